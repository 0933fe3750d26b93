"""The inbox: every update that a channel ever confirmed, and what became of it.

``new → claimed → done | dead | cancelled``. A refused update is ``cancelled`` with the reason.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import apsw

from orchestrator.channel_api import InboundMessage
from orchestrator.journal.db import audit
from orchestrator.journal.turns import attachments, outbox

COMMAND = "command"  # kind of a message that the daemon itself has answered
TASK = "task"  # kinds that the daemon has put there itself: a scheduled task,
SUBAGENT = "subagent"  # the work of a subagent,
RESULT = "subagent_result"  # what it came to,
HANDOFF = "handoff"  # and what an agent is told that takes a chat over
REQUEST = "request"  # kind of a message that a program sent over HTTP
RUNNING = "state IN('running','waiting') AND state = 'running'"  # a turn's, found by the index
INTERNAL = (TASK, SUBAGENT, RESULT, HANDOFF)
CHAT = (  # a row's chat as `outbox.Address.chat_key` has it: work of ours has a line of its own
    "inbox.channel || '/' || inbox.bot_id || '/' || inbox.chat_id || '/' || inbox.thread_id"
)
COLUMNS = (
    "id, channel, bot_id, chat_id, thread_id, chat_key, message_id, sender_id, sender_name,"
    " private, target, text, agent_id, turn_id, state, claims, received_at, error, kind"
)


@dataclass(frozen=True)
class Arrival:
    """An update with what admission said: ``refusal`` None is admitted.

    ``notice`` is what the chat is told when it is refused, if anything. ``command`` is run in the
    same transaction, once however often the update comes, and returns the answer.
    """

    message: InboundMessage
    refusal: str | None = None
    notice: str | None = None
    command: Callable[[apsw.Connection], str] | None = None


@dataclass(frozen=True)
class Offset:
    """The next update number that a channel will ask for."""

    channel: str
    bot_id: str
    next: int


@dataclass(frozen=True)
class InboxRow:
    """One stored update; times in milliseconds."""

    id: int
    channel: str
    bot_id: str
    chat_id: str
    thread_id: str
    chat_key: str
    message_id: str
    sender_id: str
    sender_name: str
    private: bool
    target: str | None
    text: str
    agent_id: str | None
    turn_id: str | None
    state: str
    claims: int
    received_at: int
    error: str | None
    kind: str

    @property
    def ours(self) -> bool:
        """Whether the daemon wrote it, and no chat."""
        return self.kind in INTERNAL

    def address(self) -> outbox.Address:
        """Where an answer goes."""
        return outbox.Address(
            self.channel, self.bot_id, self.chat_id, self.thread_id, private=self.private
        )

    def message(self) -> InboundMessage:
        """The update in the words that the router reads."""
        return InboundMessage(
            channel=self.channel,
            bot_id=self.bot_id,
            chat_id=self.chat_id,
            message_id=self.message_id,
            sender_id=self.sender_id,
            text=self.text,
            thread_id=self.thread_id or None,
            kind=self.kind,
            private=self.private,
            target=self.target,
        )


def chat_key(channel: str, bot_id: str, chat_id: str, thread_id: str | None) -> str:
    """The name of a chat in the journal; its messages are answered in order."""
    return f"{channel}/{bot_id}/{chat_id}/{thread_id or ''}"


def ingest(
    db: apsw.Connection, arrivals: Sequence[Arrival], offset: Offset | None, now: int
) -> list[int]:
    """T1: store updates and the channel's offset together; known ones are ignored.

    Returns the ids of the rows that an agent should answer.
    """
    admitted = []
    for arrival in arrivals:
        row = store(db, arrival, now)
        if row is None:
            continue
        if arrival.command is not None:
            _answer(db, arrival.message, arrival.command, now)
        elif arrival.refusal is None:
            admitted.append(row)
        else:
            audit.record(db, "admission", f"refused: {arrival.refusal}", f"inbox {row}", now)
    if offset is not None:
        db.execute(
            "INSERT INTO channel_offset VALUES(?,?,?)"
            " ON CONFLICT DO UPDATE SET next = excluded.next",
            (offset.channel, offset.bot_id, offset.next),
        )
    return admitted


def store(db: apsw.Connection, arrival: Arrival, now: int, lane: str | None = None) -> int | None:
    """Store one update, in its chat's line or another one; None if it is known."""
    message, refusal = arrival.message, arrival.refusal
    is_command = arrival.command is not None
    state = "done" if is_command else "new" if refusal is None else "cancelled"
    db.execute(
        "INSERT INTO inbox(channel, bot_id, update_id, chat_id, thread_id, chat_key,"
        " message_id, edit_date, kind, sender_id, sender_name, private, target, text, state,"
        " received_at, ended_at, error) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
        " ON CONFLICT DO NOTHING",
        (
            message.channel,
            message.bot_id,
            message.update_id,
            message.chat_id,
            message.thread_id or "",
            lane or _address(message).chat_key,
            message.message_id,
            message.edit_date,
            COMMAND if is_command else message.kind,
            message.sender_id,
            message.sender_name,
            message.private,
            message.target,
            message.text if refusal is None else "",  # what is refused is not kept
            state,
            now,
            None if state == "new" else now,
            refusal,
        ),
    )
    if not db.changes():
        return None
    row = db.last_insert_rowid()
    if refusal is None:
        attachments.attach(db, row, message.attachments)
    if arrival.notice is not None:
        outbox.add_notice(db, _address(message), arrival.notice, now)
    return row


def _answer(
    db: apsw.Connection, message: InboundMessage, run: Callable[[apsw.Connection], str], now: int
) -> None:
    outbox.add_notice(db, _address(message), run(db), now, reply_to=message.message_id)


def _address(message: InboundMessage) -> outbox.Address:
    return outbox.Address(
        message.channel,
        message.bot_id,
        message.chat_id,
        message.thread_id or "",
        private=message.private,
    )


def next_offset(db: apsw.Connection, channel: str, bot_id: str) -> int:
    """The stored offset of a channel; 0 when there is none."""
    found = db.execute(
        "SELECT next FROM channel_offset WHERE channel = ? AND bot_id = ?", (channel, bot_id)
    ).get
    return int(found or 0)


def chats_with_work(db: apsw.Connection) -> dict[str, bool]:
    """The chats with a turn to finish or a message to answer (then true), oldest first."""
    rows = db.execute(
        "SELECT chat_key, max(new) FROM (SELECT chat_key, received_at AS at, 1 AS new FROM inbox"
        f" WHERE state = 'new' UNION ALL SELECT chat_key, started_at, 0 FROM turn WHERE {RUNNING})"
        " GROUP BY chat_key ORDER BY min(at)"
    )
    return {str(key): bool(new) for key, new in rows}


def has_work(db: apsw.Connection, key: str) -> bool:
    """Whether a chat has a message to answer or a turn to finish."""
    sql = (
        "SELECT EXISTS(SELECT 1 FROM inbox WHERE chat_key = ?1 AND state = 'new')"
        f" OR EXISTS(SELECT 1 FROM turn WHERE chat_key = ?1 AND {RUNNING})"
    )
    return bool(db.execute(sql, (key,)).get)


def oldest_new(db: apsw.Connection, key: str) -> InboxRow | None:
    """The message of a chat that is next in line."""
    found = db.execute(
        f"SELECT {COLUMNS} FROM inbox WHERE chat_key = ? AND state = 'new' ORDER BY id LIMIT 1",
        (key,),
    ).fetchone()
    return from_values(found) if found else None


def of_turn(db: apsw.Connection, turn_id: str) -> list[InboxRow]:
    """The messages that a turn began with, in order; not those that entered it later."""
    rows = db.execute(
        f"SELECT {COLUMNS} FROM inbox WHERE turn_id = ? AND after_step IS NULL ORDER BY id",
        (turn_id,),
    )
    return [from_values(row) for row in rows]


def load(db: apsw.Connection, row_id: int) -> InboxRow:
    """A row that exists."""
    (row,) = db.execute(f"SELECT {COLUMNS} FROM inbox WHERE id = ?", (row_id,))
    return from_values(row)


def by_message(db: apsw.Connection, channel: str, message_id: str) -> InboxRow | None:
    """The stored message of a channel without update numbers, whose own ids never repeat."""
    found = db.execute(
        f"SELECT {COLUMNS} FROM inbox WHERE update_id IS NULL AND message_id = ? AND channel = ?",
        (message_id, channel),
    ).fetchone()
    return from_values(found) if found else None


def answered(db: apsw.Connection, message: InboundMessage) -> bool:
    """Whether the message that an edit changes has its answer."""
    return bool(
        db.execute(
            "SELECT count(*) FROM inbox WHERE channel = ? AND bot_id = ? AND chat_id = ?"
            " AND message_id = ? AND edit_date = 0 AND state = 'done'",
            (message.channel, message.bot_id, message.chat_id, message.message_id),
        ).get
    )


def bot_of(db: apsw.Connection, channel: str) -> str | None:
    """The account of ours that a channel's newest message came to."""
    # The plus keeps SQLite from sorting all of a channel's messages, where it need only look back.
    sql = "SELECT bot_id FROM inbox WHERE +channel = ? ORDER BY id DESC LIMIT 1"
    found = db.execute(sql, (channel,)).get
    return None if found is None else str(found)


def refuse(db: apsw.Connection, row: InboxRow, reason: str, notice: str | None, now: int) -> None:
    """End a stored message without an answer, with the reason in the audit log."""
    db.execute(
        "UPDATE inbox SET state = 'cancelled', ended_at = ?, error = ?"
        " WHERE id = ? AND state = 'new'",
        (now, reason, row.id),
    )
    if db.changes():
        audit.record(db, "router", f"refused: {reason}", f"inbox {row.id}", now)
        if notice is not None:
            outbox.add_notice(db, row.address(), notice, now)


def from_values(values: Sequence[object]) -> InboxRow:
    """A row from the values of `COLUMNS`."""
    row = dict(zip(InboxRow.__dataclass_fields__, values, strict=True))
    row["private"] = bool(row["private"])
    return InboxRow(**row)  # type: ignore[arg-type]  # the columns are STRICT, in this order
