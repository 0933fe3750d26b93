"""The outbox: every message to a chat, and the state of its delivery.

``queued → sending → delivered | unknown | failed_permanent``; in ``edit`` mode a placeholder or a
streamed preview may come first: ``queued → ph_sending → ph_sent → sending → delivered``. A preview
and the final text are the same row: ``final`` is 0 until T6 stores the text. ``again`` counts how
often a message of unknown delivery may still be repeated; an edit must be repeated, as an earlier
edit may land after it. Such a row goes from ``sending`` back to ``ph_sent`` with its ``msg_id``. A
row of ``edit`` mode that stays ``sending`` without an id must be looked for.

A row has its place in the chat once the platform has given its first message a number. Only
`find_next_row` decides which row of a chat is next, which keeps invariant 23.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from orchestrator.journal.db.database import Database, Rows, build_distinct_query
from orchestrator.journal.turns import owners
from orchestrator.placement import Share
from thinker.protocol.names import ChatName

UNFINISHED = " …"  # ends every preview, to tell it from the reply
LATE_EDIT = 4000  # milliseconds until an edit is repeated; an earlier one has landed by then
HOOKS = "hook"  # the channel of webhooks, each of which is a chat
STORED = "stored"  # a mode: clients read the reply in the journal, so storing it delivers it
OPEN = "state NOT IN('delivered','unknown','abandoned','failed_permanent')"
WAITING = f"{OPEN} AND (final = 1 OR ph_id IS NULL)"  # all except previews with a place
NEXT = "ORDER BY msg_id IS NOT NULL, id LIMIT 1"  # of a chat's waiting rows
# The textual content; the words of a spoken answer are in an earlier row.
TOLD = (
    "CASE WHEN file_name IS NULL THEN body"
    " ELSE trim(file_name || iif(voice = 1, '', ' ' || body)) END"
)
UNCONFIRMED = f"SELECT id, {TOLD} FROM outbox WHERE chat_key = ? AND state = 'unknown' ORDER BY id"
PREVIEW = f"turn_id = ? AND final = 0 AND {OPEN}"
CLOSE = (  # T9, when all rows of a turn have ended
    "UPDATE turn SET state = 'closed' WHERE state = 'replied'"
    f" AND NOT EXISTS(SELECT 1 FROM outbox WHERE turn_id = turn.id AND {OPEN})"
)


@dataclass(frozen=True)
class Address:
    """A chat as a destination."""

    channel: str
    bot_id: str
    chat_id: str
    thread_id: str = ""
    private: bool = True

    @classmethod
    def for_unmet_chat(
        cls, channel: str, bot_id: str, chat_id: str, thread_id: str = ""
    ) -> "Address":
        """Return the address of a chat in which no message exists yet.

        Groups of Telegram, whose replies may be edits only in private chats, have negative ids.
        """
        return cls(channel, bot_id, chat_id, thread_id, private=not chat_id.startswith("-"))

    @cached_property
    def chat_key(self) -> str:
        return f"{self.channel}/{self.bot_id}/{self.chat_id}/{self.thread_id}"

    @property
    def name(self) -> str:
        """The chat as people write it."""
        return str(ChatName(self.channel, self.chat_id, self.thread_id))


@dataclass(frozen=True)
class OutboxRow:
    """A message to deliver; ``not_before`` in milliseconds."""

    id: int
    turn_id: str | None
    part: int
    channel: str
    bot_id: str
    chat_id: str
    thread_id: str
    chat_key: str
    mode: str
    body: str
    markdown: bool
    reply_to: str | None
    final: bool
    state: str
    ph_id: str | None
    msg_id: str | None
    attempt: int
    not_before: int
    rendered: str | None
    approval_id: int | None
    media_id: str | None
    file_name: str | None
    created_at: int
    voice: bool
    choices: str | None
    owner: str

    @property
    def key(self) -> str:
        """A unique key of the message, across all journals."""
        return f"{self.id}-{self.created_at}"

    @property
    def is_shown(self) -> bool:
        """Whether the message's text was shown and must only be repeated."""
        return self.msg_id is not None

    @property
    def is_whole(self) -> bool:
        """Whether the message is sent in one call, without earlier calls that may have arrived."""
        answers = self.final and self.turn_id is not None and self.attempt == 0
        return self.mode == "direct" or (answers and self.ph_id is None)

    @property
    def lost(self) -> bool:
        """Whether the message was sent in one call whose outcome is unknown."""
        return self.mode == "edit" and self.state == "sending" and self.ph_id is None


COLUMNS = ", ".join([*OutboxRow.__annotations__][:-1])
OUTBOX = Rows(OutboxRow, "outbox", f"{COLUMNS}, {owners.OF_OUTBOX}")


@dataclass(frozen=True)
class OutboxPart:
    """A message that is not stored yet; ``rendered`` as in `ReplyPart`.

    ``approval_id`` is the approval that it asks for; ``choices`` are other buttons, as a JSON
    object of chat commands by label. A ``notice`` is the daemon's. With a file,
    ``media_id`` and ``file_name``, the text is its caption. The text of a ``voice`` message is
    spoken; its file is made when it is sent.
    """

    text: str
    markdown: bool = True
    reply_to: str | None = None
    again: int = 0
    rendered: str | None = None
    approval_id: int | None = None
    media_id: str | None = None
    file_name: str | None = None
    voice: bool = False
    notice: bool = False
    choices: str | None = None


def add_reply(
    db: Database, turn_id: str, address: Address, parts: Sequence[OutboxPart], mode: str, now: int
) -> None:
    """Queue the parts of a reply in order; a preview becomes the first part, sent or not."""
    if parts and mode != STORED:
        db.execute(
            "UPDATE outbox SET body = ?, markdown = ?, rendered = ?, notice = ?, final = 1"
            f" WHERE {PREVIEW}",
            (parts[0].text, parts[0].markdown, parts[0].rendered, parts[0].notice, turn_id),
        )
        parts = parts[db.changes() :]
    add_extra(db, turn_id, address, parts, mode, now)
    if mode == STORED:
        db.execute(f"{CLOSE} AND id = ?", (turn_id,))


def add_extra(
    db: Database,
    turn_id: str | None,
    address: Address,
    parts: Sequence[OutboxPart],
    mode: str,
    now: int,
    *,
    final: bool = True,
) -> None:
    """Queue messages that a turn sends besides its reply, or without a turn, to any chat."""
    values = {"turn_id": turn_id, "chat_key": address.chat_key, "final": final, "now": now}
    for part in parts:
        stored = mode == STORED and not part.voice  # whose file is made by the chat's queue
        whole = stored or part.voice or part.media_id is not None
        chosen = {
            "mode": "direct" if whole else mode,
            "state": "delivered" if stored else "queued",
            "ended_at": now if stored else None,
        }
        db.execute(
            "INSERT INTO outbox(turn_id, part, channel, bot_id, chat_id, thread_id, chat_key, mode,"
            " body, markdown, rendered, reply_to, again, approval_id, media_id, file_name, voice,"
            " notice, choices, final, aside, state, created_at, ended_at)"
            " VALUES(:turn_id,"
            " (SELECT coalesce(max(part) + 1, 0) FROM outbox WHERE turn_id = :turn_id),"
            " :channel, :bot_id, :chat_id, :thread_id, :chat_key, :mode,"
            " :text, :markdown, :rendered, :reply_to, :again, :approval_id, :media_id, :file_name,"
            " :voice, :notice, :choices, :final,"
            " (SELECT count(*) FROM turn WHERE id = :turn_id AND chat_key <> :chat_key),"
            " :state, :now, :ended_at)",
            {**vars(address), **vars(part), **values, **chosen},
        )


def count_extras(db: Database, turn_id: str) -> int:
    """Count the messages that an open turn has sent besides its reply, with its subagents'."""
    # A subagent's turn counts with the turn of the call that began it; replies end their turn.
    sql = (
        "WITH first(id) AS (SELECT coalesce((SELECT run.turn_id FROM inbox JOIN subagent_run AS run"
        " ON run.inbox_id = inbox.id WHERE inbox.turn_id = ?1), ?1))"
        " SELECT count(*) FROM turn JOIN outbox ON turn_id = turn.id AND final = 1"
        " AND (turn.ended_at IS NULL OR created_at < turn.ended_at)"
        " WHERE turn.id IN(SELECT id FROM first UNION ALL SELECT inbox.turn_id FROM first"
        " JOIN subagent_run AS run ON run.turn_id = first.id JOIN inbox ON inbox.id = run.inbox_id)"
    )
    return int(db.execute(sql, (turn_id,)).get)


def add_notice(
    db: Database,
    address: Address,
    text: str,
    now: int,
    reply_to: str | None = None,
    *,
    again: int = 0,
) -> None:
    """Queue a message of the daemon that belongs to no turn.

    ``reply_to`` is the platform's id of the message it answers; ``again`` is how often it may be
    repeated when its delivery is unknown.
    """
    part = OutboxPart(text, markdown=False, reply_to=reply_to, again=again, notice=True)
    add_extra(db, None, address, [part], "direct", now)


def add_edit(db: Database, shown: OutboxRow, message_id: str, text: str, now: int) -> None:
    """Queue an edit of a message that the platform has; see the module `questions`."""
    db.execute(
        "INSERT INTO outbox(part, channel, bot_id, chat_id, thread_id, chat_key, mode, body,"
        " markdown, notice, approval_id, final, state, ph_id, created_at)"
        " SELECT 0, channel, bot_id, chat_id, thread_id, chat_key, 'edit', ?, markdown,"
        " notice, approval_id, 1, 'ph_sent', ?, ? FROM outbox WHERE id = ?",
        (text, message_id, now, shown.id),
    )


def list_notices_to(db: Database, chat_key: str, message_id: str) -> tuple[str, ...]:
    where = "chat_key = ? AND reply_to = ? AND turn_id IS NULL ORDER BY id"
    found = db.execute(f"SELECT body FROM outbox WHERE {where}", (chat_key, message_id))
    return tuple(str(body) for (body,) in found)


def start_preview(db: Database, turn_id: str, address: Address, part: OutboxPart, now: int) -> None:
    """Queue a preview of a turn's answer, unless it has one or the turn has ended."""
    begun = db.execute(f"SELECT 1 FROM outbox WHERE {PREVIEW}", (turn_id,)).get
    sql = "SELECT 1 FROM turn WHERE id = ? AND state IN('running','waiting')"
    if begun is None and db.execute(sql, (turn_id,)).get is not None:
        add_extra(db, turn_id, address, [part], "edit", now, final=False)


def find_preview_message(db: Database, turn_id: str) -> str | None:
    """Return the platform's id of a turn's preview; None before it is sent and after T6."""
    found = db.execute(f"SELECT ph_id FROM outbox WHERE {PREVIEW}", (turn_id,)).get
    return None if found is None else str(found)


def find_next_row(db: Database, chat_key: str) -> OutboxRow | None:
    """Return the row to send next in a chat; the chat's later rows wait for it.

    A preview waits, and blocks later rows, until it has its place. After that no row waits for its
    text, nor for the repetition of an edit.
    """
    return OUTBOX.find_first(db, f"{WAITING} AND chat_key = ? {NEXT}", chat_key)


def list_waiting_chats(db: Database, channel: str, share: Share | None = None) -> list[Address]:
    """Return the chats of a channel whose next row a share has to send."""
    first_id = f"SELECT id FROM outbox WHERE {WAITING} AND chat_key = value {NEXT}"
    waiting = build_distinct_query("outbox", "chat_key", WAITING)
    chats = f"SELECT ({first_id}) FROM ({waiting}) AS waiting"
    where = f"id IN({chats}) AND channel = ? ORDER BY id"
    sql = f"SELECT {owners.OF_OUTBOX}, bot_id, chat_id, thread_id FROM outbox WHERE {where}"
    found = db.execute(sql, (channel,))
    return [Address(channel, *chat) for owner, *chat in found if owners.is_owned(owner, share)]


def list_due_rows(db: Database, channel: str, share: Share | None = None) -> list[OutboxRow]:
    """Return the `find_next_row` row of each chat of a channel, if it is in a share."""
    chats = list_waiting_chats(db, channel, share)
    found = [find_next_row(db, address.chat_key) for address in chats]
    return [row for row in found if row is not None]


def pop_unconfirmed(db: Database, chat_key: str, now: int) -> list[str]:
    """Abandon a chat's messages of unknown delivery, and return their texts."""
    unconfirmed = list(db.execute(UNCONFIRMED, (chat_key,)))
    for row_id, _ in unconfirmed:
        end_row(db, row_id, "abandoned", "mentioned in the chat's next reply", now)
    return [str(body) for _, body in unconfirmed]


def list_texts_of_turn(db: Database, turn_id: str) -> tuple[str, ...]:
    """Return the texts of a turn's messages in order, delivered or not; a file by its name."""
    sql = f"SELECT {TOLD} FROM outbox WHERE turn_id = ? AND final = 1 ORDER BY part"
    return tuple(str(body) for (body,) in db.execute(sql, (turn_id,)))


def mark_sending(
    db: Database, row_id: int, state: str, now: int, again: int = 0, owner: str = ""
) -> bool:
    """Mark a row before the platform is called (T7), as ``ph_sending`` or ``sending``.

    ``again`` is how often it may at least be repeated if its delivery is unknown. Returns False if
    the row must not be sent: it has ended meanwhile, or is no longer that of ``owner``.
    """
    db.execute(
        "UPDATE outbox SET state = ?, attempt = attempt + 1, t_sending = ?, again = max(again, ?)"
        f" WHERE id = ? AND {OPEN} AND ? IN('', {owners.OF_OUTBOX})",
        (state, now, again, row_id, owner),
    )
    return db.changes() == 1


def mark_placeholder_sent(db: Database, row_id: int, message_id: str) -> None:
    """Store the platform's id of a placeholder or preview (T8)."""
    sql = f"UPDATE outbox SET state = 'ph_sent', ph_id = ?, not_before = 0 WHERE id = ? AND {OPEN}"
    db.execute(sql, (message_id, row_id))


def mark_delivered(
    db: Database, row: OutboxRow, message_id: str | None, now: int
) -> OutboxRow | None:
    """Store that the platform accepted a message (T8), and its id there.

    The row ends, unless it was edited and an earlier edit may land after this one. Then the edit
    must be repeated. Return the chat's next row.
    """
    if row.mode == "edit":
        db.execute(
            "UPDATE outbox SET state = 'ph_sent', msg_id = ?, again = again - 1, not_before = ?"
            " WHERE id = ? AND again > 0",
            (message_id, now + LATE_EDIT, row.id),
        )
    if row.mode != "edit" or db.changes() == 0:
        db.execute(
            "UPDATE outbox SET state = 'delivered', msg_id = ?, error = NULL, ended_at = ?"
            " WHERE id = ?",
            (message_id, now, row.id),
        )
        if row.turn_id is not None:
            db.execute(f"{CLOSE} AND id = ?", (row.turn_id,))
    return find_next_row(db, row.chat_key)


def repeat_final_edit(db: Database, turn_id: str, message_id: str) -> None:
    """Repeat the final edit of a message, as an edit of its preview may land late."""
    sql = f"UPDATE outbox SET again = 1 WHERE turn_id = ? AND ph_id = ? AND {OPEN}"
    db.execute(sql, (turn_id, message_id))


def close_silent_turn(db: Database, turn_id: str, now: int) -> None:
    """Close a turn whose reply is empty (T9), and abandon its preview."""
    sql = f"UPDATE outbox SET state = 'abandoned', ended_at = ? WHERE {PREVIEW}"
    db.execute(sql, (now, turn_id))
    db.execute(f"{CLOSE} AND id = ?", (turn_id,))


def end_row(db: Database, row_id: int, state: str, error: str | None, now: int) -> None:
    """End a row; close its turn (T9) if this was the last one."""
    sql = "UPDATE outbox SET state = ?, error = ?, ended_at = ? WHERE id = ?"
    db.execute(sql, (state, error, now, row_id))
    db.execute(f"{CLOSE} AND id = (SELECT turn_id FROM outbox WHERE id = ?)", (row_id,))


def mark_refused(db: Database, row_id: int, error: str, now: int) -> None:
    """End a row that the platform refuses permanently; a preview loses only its text so far.

    The turn continues, and its reply becomes a new row.
    """
    final = db.execute("SELECT final FROM outbox WHERE id = ?", (row_id,)).get
    end_row(db, row_id, "failed_permanent" if final else "abandoned", error, now)


def mark_unconfirmed(db: Database, row_id: int, error: str, now: int, not_before: int) -> None:
    """End a direct message as ``unknown``, or queue it again if it has repetitions left.

    ``not_before`` (milliseconds) is the earliest time of a repetition.
    """
    db.execute("UPDATE outbox SET again = again - 1 WHERE id = ? AND again > 0", (row_id,))
    if db.changes() == 1:
        requeue(db, row_id, error, not_before)
    else:
        end_row(db, row_id, "unknown", error, now)


def requeue(db: Database, row_id: int, error: str, not_before: int) -> None:
    """Queue a row again, to be sent at ``not_before`` (milliseconds) or later."""
    db.execute(
        "UPDATE outbox SET state = CASE WHEN ph_id IS NULL THEN 'queued' ELSE 'ph_sent' END,"
        f" error = ?, not_before = ? WHERE id = ? AND {OPEN}",
        (error, not_before, row_id),
    )


def store_voice_file(db: Database, row_id: int, media_id: str, file_name: str) -> None:
    """Store the file of a spoken row."""
    sql = f"UPDATE outbox SET media_id = ?, file_name = ? WHERE id = ? AND {OPEN}"
    db.execute(sql, (media_id, file_name, row_id))


def replace_voice_with_text(db: Database, row_id: int, why: str) -> None:
    """Turn a row that cannot be spoken into text that says why."""
    sql = f"UPDATE outbox SET voice = 0, file_name = NULL, body = ? WHERE id = ? AND {OPEN}"
    db.execute(sql, (why, row_id))


def delay_search(db: Database, row_id: int, error: str, not_before: int) -> None:
    """Delay the search for a message that may have arrived until ``not_before``."""
    sql = f"UPDATE outbox SET error = ?, not_before = ? WHERE id = ? AND {OPEN}"
    db.execute(sql, (error, not_before, row_id))


def forget_placeholder(db: Database, row_id: int) -> None:
    """Queue a row again without its placeholder, so that a new message is sent."""
    sql = f"UPDATE outbox SET state = 'queued', ph_id = NULL, again = 0 WHERE id = ? AND {OPEN}"
    db.execute(sql, (row_id,))


def recover_sending_rows(db: Database, now: int, share: Share | None = None) -> None:
    """Classify the rows of a share that were being sent when their process died.

    In ``edit`` mode an edit is repeated, a placeholder of unknown delivery is sent again, and a
    whole message is looked for. The delivery of a direct message is unknown. Messages of the last
    process may land late.
    """
    begun = f"{OPEN} AND (ph_id IS NOT NULL OR state IN('ph_sending','sending'))"
    found = [row for row in OUTBOX.select(db, begun) if owners.is_owned(row.owner, share)]
    ids = [(row.id,) for row in found]
    again = "UPDATE outbox SET again = 1 WHERE ph_id IS NOT NULL AND msg_id IS NULL AND id = ?"
    db.executemany(again, ids)
    lost = [(now + LATE_EDIT, row.id) for row in found if row.lost]
    db.executemany("UPDATE outbox SET not_before = ? WHERE id = ?", lost)
    db.executemany(
        "UPDATE outbox SET state = CASE WHEN ph_id IS NULL THEN 'queued' ELSE 'ph_sent' END"
        " WHERE (state = 'ph_sending' OR state = 'sending' AND ph_id IS NOT NULL) AND id = ?",
        ids,
    )
    for row in found:
        if row.mode == "direct" and row.state == "sending" and row.ph_id is None:
            mark_unconfirmed(db, row.id, "the process stopped while sending", now, now)
