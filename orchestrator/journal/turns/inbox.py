"""The inbox: every confirmed update of a channel, and the daemon's own messages.

``new → claimed → done | dead | cancelled``. A refused update is ``cancelled`` with the reason.

Where: is a repeated update dropped?
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from orchestrator import chat_texts
from orchestrator.channel_api import EDIT, NOT_ADDRESSED, REMOVAL, InboundMessage
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database, Rows, ask_ahead, build_distinct_query
from orchestrator.journal.turns import albums, attachments, corrections, held_messages, outbox
from thinker.protocol.fencing import compute_mark
from thinker.protocol.messages import MAX_AUTHOR, Origin, QuotedMessage, UserMessage, WhileBusy
from thinker.protocol.visible_text import clean_name

# Kinds of messages, besides that of a person.
COMMAND = "command"  # a chat command, which the daemon answers
REQUEST = "request"  # an HTTP request
TASK = "task"  # a run of a scheduled task
SUBAGENT = "subagent"  # a task for a subagent
RESULT = "subagent_result"  # the result of a subagent, for its parent
HANDOFF = "handoff"  # the note for an agent that takes over a chat
HOOK = "hook"  # what a webhook brought
INTERNAL = (TASK, SUBAGENT, RESULT, HANDOFF, HOOK)  # the kinds that the daemon writes
RUNNING = "turn.state IN('running','waiting') AND turn.state = 'running'"  # uses the partial index
OLDEST_NEW = "chat_key = ? AND state = 'new'"
WAITING_CHATS = build_distinct_query("inbox", "chat_key", "state = 'new'")
HAS_WORK = (
    "SELECT EXISTS(SELECT 1 FROM inbox WHERE chat_key = ?1 AND state = 'new')"
    f" OR EXISTS(SELECT 1 FROM turn WHERE chat_key = ?1 AND {RUNNING})"
)
HINDRANCES = (  # see `turns.find_hindrances`
    "SELECT EXISTS(SELECT 1 FROM handoff WHERE chat_key = ? AND agent_id != routed_id),"
    " EXISTS(SELECT 1 FROM pause WHERE ended_at IS NULL)"
)
COUNT = "SELECT count(*) FROM inbox WHERE turn_id = ?"
CLAIMED_BY = "turn_id = ? AND state = 'claimed'"
MAX_SEARCHED = 10_000  # newest messages, of all channels
MAX_WRITTEN = 2_000  # newest messages of a chat, whose senders are known as its people
NEWEST_BOT = """SELECT coalesce(
  (SELECT bot_id FROM (SELECT id, channel, bot_id FROM inbox ORDER BY id DESC LIMIT ?2) AS newest
    WHERE channel = ?1 ORDER BY id DESC LIMIT 1),
  (SELECT min(bot_id) FROM inbox WHERE channel = ?1))"""
CHAT = (  # a row's chat as `outbox.Address.chat_key` has it; tasks and subagents have other queues
    "inbox.channel || '/' || inbox.bot_id || '/' || inbox.chat_id || '/' || inbox.thread_id"
)


class Arrival(NamedTuple):
    """An update with the decision of admission.

    ``refusal`` is the reason of a refusal, None for an admitted update; ``notice`` is the text that
    the chat gets then, if any. ``command`` runs in the same transaction, once even if the update
    comes again, and returns the answer for the chat, if any. ``held`` keeps the text of a refused
    message for when the chat is admitted. ``deferred`` is set for a command that another node
    answers: the queue in which it waits, and what answering it needs.
    """

    message: InboundMessage
    refusal: str | None = None
    notice: str | None = None
    command: Callable[[Database], str | None] | None = None
    held: bool = False
    deferred: tuple[str, str] | None = None

    @property
    def is_command(self) -> bool:
        return self.command is not None or self.deferred is not None


@dataclass(frozen=True)
class Offset:
    """The start of a channel's next poll: an update number, or the platform's own cursor."""

    channel: str
    bot_id: str
    next: int | str


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
    album: str | None
    origin: Origin
    after_step: int | None
    while_busy: WhileBusy | None
    quote: str | None
    pictured: bool  # whether it has attachments

    @property
    def is_internal(self) -> bool:
        return self.kind in INTERNAL

    @property
    def scope(self) -> str:
        """The memory that the message belongs to: its chat's, or that of an HTTP client's user.

        A webhook has its own, wherever its answer goes.
        """
        if self.kind == HOOK:
            return f"{outbox.HOOKS}:{self.sender_name}"
        return f"{self.channel}:{self.sender_name if self.kind == REQUEST else self.chat_id}"

    @property
    def author(self) -> attachments.Author:
        sender = "" if self.private or self.is_internal else self.sender_id
        marked = self.kind == HOOK  # the operator's template, with marked values
        name = clean_name(self.sender_name)[:MAX_AUTHOR] if sender else ""
        return attachments.Author(self.turn_id or "", self.origin, sender, marked=marked, name=name)

    def build_address(self) -> outbox.Address:
        chat = self.channel, self.bot_id, self.chat_id, self.thread_id
        return outbox.Address(*chat, private=self.private)

    def build_user_message(self, db: Database) -> UserMessage:
        """Return the message as a model reads it, its pictures without their bytes."""
        if self.private and self.origin == "user" and not (self.pictured or self.quote):
            return UserMessage(content=self.text)
        pictured = self.id if self.pictured else None
        found = attachments.build_user_message(db, pictured, self.text, self.author)
        if self.quote is None:
            return found
        quote = QuotedMessage.model_validate_json(self.quote)
        mark = compute_mark(self.turn_id or "") if quote.is_foreign else ""
        quote = quote.model_copy(update={"fence": mark})
        return found.model_copy(update={"quote": quote})


COLUMNS = ", ".join([*InboxRow.__annotations__][:-1])
INBOX = Rows(
    InboxRow,
    "inbox",
    f"{COLUMNS}, EXISTS(SELECT 1 FROM attachment WHERE inbox_id = inbox.id)",
)


def build_chat_key(channel: str, bot_id: str, chat_id: str, thread_id: str | None) -> str:
    """Return the name of a chat in the journal; messages with one name are answered in order."""
    return outbox.Address(channel, bot_id, chat_id, thread_id or "").chat_key


def ingest(db: Database, arrivals: Sequence[Arrival], offset: Offset | None, now: int) -> list[int]:
    """Store updates and the channel's offset together (T1); ignore updates stored before.

    Returns the ids of the rows that wait for an agent, or for its node.
    """
    admitted = []
    for found in arrivals:
        arrival = _admit_addressed_part(db, found) if found.message.album else found
        if arrival.message.kind == REMOVAL:
            corrections.withdraw_message(db, arrival.message, now)
            continue
        if arrival.message.kind == EDIT:
            arrival = _settle_edit(db, arrival, now)
        row = store_arrival(db, arrival, now)
        if row is None:
            continue
        if arrival.command is not None:
            answer, message_id = arrival.command(db), arrival.message.message_id
            if answer is not None:
                address = make_address(arrival.message)
                outbox.add_notice(db, address, answer, now, reply_to=message_id)
        elif arrival.refusal is None:
            admitted.append(row)
        elif arrival.refusal != corrections.REPLACED:
            audit.record_decision(
                db, "admission", f"refused: {arrival.refusal}", f"inbox {row}", now
            )
    if offset is not None:
        store_offset(db, offset)
    return admitted


def store_offset(db: Database, offset: Offset) -> None:
    """Store the start of a channel's next poll."""
    db.execute(
        "INSERT INTO channel_offset VALUES(:channel, :bot_id, :next)"
        " ON CONFLICT(channel, bot_id) DO UPDATE SET next = excluded.next",
        vars(offset),
    )


def _settle_edit(db: Database, arrival: Arrival, now: int) -> Arrival:
    """Give the new words to the message that they correct, if it waits for answer or admission."""
    if not corrections.admit_edit(db, arrival.message):
        return arrival  # and is not stored again
    if arrival.held and corrections.correct_held_text(db, arrival.message):
        return arrival._replace(held=False)
    if arrival.refusal not in (None, NOT_ADDRESSED):
        return arrival
    refusal, quote = corrections.correct_message(db, arrival.message, now)
    if refusal is not None:
        return arrival._replace(refusal=refusal)
    if quote is None:
        return arrival
    return arrival._replace(message=replace(arrival.message, quote=quote))


def _admit_addressed_part(db: Database, arrival: Arrival) -> Arrival:
    """Admit a part of an album if the caption on another part addresses the bot."""
    message = arrival.message
    if arrival.refusal != NOT_ADDRESSED or not message.album:
        return arrival
    known = albums.is_album_addressed(db, make_address(message).chat_key, message.album)
    return Arrival(message) if known else arrival


def find_newest_message(db: Database, channel: str, chat_id: str) -> InboxRow | None:
    """Return the newest message of a person in a chat."""
    where = "channel = ? AND chat_id = ? AND kind = 'message' ORDER BY id DESC LIMIT 1"
    return INBOX.find_first(db, where, channel, chat_id)


def store_arrival(db: Database, arrival: Arrival, now: int, queue: str | None = None) -> int | None:
    """Store one update in a queue (default: its chat's), where a part joins its album.

    Returns its id, or None if it was stored before.
    """
    message, refusal, address = arrival.message, arrival.refusal, make_address(arrival.message)
    is_command, quote = arrival.is_command, None
    if arrival.deferred is not None:
        queue, quote = arrival.deferred
    elif refusal is None and not is_command:
        quote = _write_quote(message)
    values = vars(message) | {
        "thread_id": address.thread_id,
        "chat_key": queue or address.chat_key,
        "kind": COMMAND if is_command else message.kind,
        "text": message.text if refusal is None else "",  # a refused text is not kept
        "state": "done" if arrival.command else "new" if refusal is None else "cancelled",
        "now": now,
        "refusal": refusal,
        "album": None if is_command else message.album,
        "quote": quote,
    }
    row: int | None = db.execute(
        "INSERT INTO inbox(channel, bot_id, update_id, chat_id, thread_id, chat_key, message_id,"
        " edit_date, kind, sender_id, sender_name, private, target, text, state, received_at,"
        " ended_at, error, album, origin, while_busy, quote)"
        " VALUES(:channel, :bot_id, :update_id, :chat_id, :thread_id, :chat_key,"
        " :message_id, :edit_date, :kind, :sender_id, :sender_name, :private, :target, :text,"
        " :state, :now, iif(:state = 'new', NULL, :now), :refusal, :album, :origin, :while_busy,"
        " :quote)"
        " ON CONFLICT DO NOTHING RETURNING id",
        values,
    ).get
    if row is None:
        return None
    held = held_messages.hold_message(db, row, message) if arrival.held else 0
    # An album may still be addressed, a held message still be admitted.
    kept = refusal is None or held or (message.album and refusal == NOT_ADDRESSED)
    if message.attachments and kept:
        attachments.store_attachments(db, row, message.channel, message.attachments, now)
    if message.album and values["state"] == "new":
        albums.join_album(db, row, address.chat_key, message.album)
    notice = chat_texts.HELD_FULL if held == held_messages.MAX_HELD else arrival.notice
    if notice is not None:
        outbox.add_notice(db, address, notice, now)
    return row


def _write_quote(message: InboundMessage) -> str | None:
    return None if message.quote is None else message.quote.model_dump_json(exclude_defaults=True)


def make_address(message: InboundMessage) -> outbox.Address:
    chat = (message.channel, message.bot_id, message.chat_id, message.thread_id or "")
    return outbox.Address(*chat, private=message.private)


def load_next_offset(db: Database, channel: str, bot_id: str) -> int:
    sql = "SELECT next FROM channel_offset WHERE channel = ? AND bot_id = ?"
    return int(db.execute(sql, (channel, bot_id)).get or 0)


def load_cursor(db: Database, channel: str, bot_id: str) -> str:
    sql = "SELECT next FROM channel_offset WHERE channel = ? AND bot_id = ?"
    found = db.execute(sql, (channel, bot_id)).get
    return "" if found is None else str(found)


def list_chats_with_work(db: Database) -> dict[str, bool]:
    """Return the chats with work, oldest first; True for those with a new message."""
    rows = db.execute(
        "SELECT chat_key, max(new) FROM (SELECT value AS chat_key, 1 AS new, (SELECT received_at"
        " FROM inbox WHERE state = 'new' AND chat_key = value ORDER BY id LIMIT 1) AS at"
        f" FROM ({WAITING_CHATS}) AS waiting"
        f" UNION ALL SELECT chat_key, 0, started_at FROM turn WHERE {RUNNING}) AS work"
        " GROUP BY chat_key ORDER BY min(at), chat_key"
    )
    return {str(key): bool(new) for key, new in rows}


def has_work(db: Database, key: str) -> bool:
    return bool(db.execute(HAS_WORK, (key,)).get)


def find_oldest_new(db: Database, key: str) -> InboxRow | None:
    return INBOX.find_first(db, f"{OLDEST_NEW} ORDER BY id LIMIT 1", key)


def find_next_message(db: Database, key: str) -> InboxRow | None:
    """Return the oldest new message of a chat, unless the chat has a running turn."""
    running = f"SELECT 1 FROM turn WHERE turn.chat_key = inbox.chat_key AND {RUNNING}"
    where = f"{OLDEST_NEW} AND NOT EXISTS({running}) ORDER BY id LIMIT 1"
    ask_ahead(db, INBOX.build_question(where, key), (HINDRANCES, (key,)))
    return INBOX.find_first(db, where, key)


def list_opening_messages(db: Database, turn_id: str) -> list[InboxRow]:
    """Return the messages that a turn began with, in order, without later ones."""
    return [row for row in list_turn_messages(db, turn_id) if row.after_step is None]


def list_turn_messages(db: Database, turn_id: str) -> list[InboxRow]:
    return INBOX.select(db, "turn_id = ? ORDER BY id", turn_id)


def count_turn_messages(db: Database, turn_id: str, opening: InboxRow) -> int:
    """Count the messages of a turn that began with ``opening`` and is about to be answered."""
    chat = opening.build_address().chat_key
    ask_ahead(db, (COUNT, (turn_id,)), (outbox.UNCONFIRMED, (chat,)))
    return int(db.execute(COUNT, (turn_id,)).get)


def load_message(db: Database, row_id: int) -> InboxRow:
    return INBOX.select(db, "id = ?", row_id)[0]


def find_message_by_id(db: Database, channel: str, message_id: str) -> InboxRow | None:
    """Return a stored message of a channel without update numbers, where message ids are unique."""
    where = "update_id IS NULL AND message_id = ? AND channel = ?"
    return INBOX.find_first(db, where, message_id, channel)


def list_senders(db: Database, agent_id: str, channel: str, chat_id: str) -> list[str]:
    """Return the ids of the people who wrote to an agent in a chat of late."""
    rows = db.execute(
        "SELECT sender_id FROM inbox WHERE agent_id = ? AND channel = ? AND chat_id = ?"
        " ORDER BY id DESC LIMIT ?",
        (agent_id, channel, chat_id, MAX_WRITTEN),
    )
    return list(dict.fromkeys(str(sender) for (sender,) in rows))


def find_private_address(db: Database, channel: str, name: str) -> outbox.Address | None:
    """Return the private chat with this id, or of the person with this id, if they ever wrote."""
    row = INBOX.find_first(
        db,
        "channel = ?1 AND private = 1 AND (chat_id = ?2 OR sender_id = ?2)"
        " AND kind IN('message','edit','command') ORDER BY id DESC LIMIT 1",
        channel,
        name,
    )
    return None if row is None else replace(row.build_address(), thread_id="")


def find_bot_id(db: Database, channel: str) -> str | None:
    """Return the bot that got the newest message of a channel; any bot of it after a long time."""
    found: str | None = db.execute(NEWEST_BOT, (channel, MAX_SEARCHED)).get
    return found


def refuse_message(db: Database, row: InboxRow, reason: str, notice: str | None, now: int) -> None:
    """Cancel a new message, record the reason in the audit log and queue ``notice``, if any."""
    end_messages(db, "id = ? AND state = 'new'", row.id, "cancelled", reason, now)
    if db.changes():
        audit.record_decision(db, "router", f"refused: {reason}", f"inbox {row.id}", now)
        if notice is not None:
            outbox.add_notice(db, row.build_address(), notice, now)


def end_messages(
    db: Database, where: str, value: int | str, state: str, error: str | None, now: int
) -> None:
    """End the messages that match a condition on one value."""
    sql = f"UPDATE inbox SET state = ?, ended_at = ?, error = ? WHERE {where}"
    db.execute(sql, (state, now, error, value))
