"""The outbox: every message to a chat, and the state of its delivery.

``queued → sending → delivered | unknown | failed_permanent``; in ``edit`` mode a placeholder or a
streamed preview comes first: ``queued → ph_sending → ph_sent → sending → delivered``. A preview and
the final text are the same row: ``final`` is 0 until T6 stores the text. ``again`` counts how often
a message of unknown delivery may still be repeated.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import apsw

from orchestrator.journal.db.rows import Rows

UNFINISHED = " …"  # ends every preview, to tell it from the reply
STORED = "stored"  # a mode: clients read the reply in the journal, so storing it delivers it
OPEN = "state NOT IN('delivered','unknown','abandoned','failed_permanent')"
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

    @property
    def chat_key(self) -> str:
        return f"{self.channel}/{self.bot_id}/{self.chat_id}/{self.thread_id}"


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
    attempt: int
    not_before: int


OUTBOX = Rows(OutboxRow, "outbox")


@dataclass(frozen=True)
class Part:
    """A message of a reply that is not stored yet."""

    text: str
    markdown: bool = True
    reply_to: str | None = None
    again: int = 0


def add(
    db: apsw.Connection, turn_id: str, address: Address, parts: Sequence[Part], mode: str, now: int
) -> None:
    """Queue the parts of a reply in order; a preview that was sent becomes the first part."""
    sql = "SELECT part FROM outbox WHERE turn_id = ? AND final = 0"
    preview = db.execute(sql, (turn_id,)).get
    if parts and isinstance(preview, int):
        db.execute(
            "UPDATE outbox SET body = ?, markdown = ?, final = 1,"
            " state = CASE state WHEN 'ph_sent' THEN 'ph_sent' ELSE 'queued' END"
            " WHERE turn_id = ? AND part = ?",
            (parts[0].text, parts[0].markdown, turn_id, preview),
        )
        parts = parts[1:]
    add_extra(db, turn_id, address, parts, mode, now)
    if mode == STORED:
        db.execute(f"{CLOSE} AND id = ?", (turn_id,))


def add_extra(
    db: apsw.Connection, turn_id: str, address: Address, parts: Sequence[Part], mode: str, now: int
) -> None:
    """Queue messages that a turn sends besides its reply, to any chat."""
    for part in parts:
        _insert(db, turn_id, address, part, mode, now)


def add_notice(
    db: apsw.Connection,
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
    part = Part(text, markdown=False, reply_to=reply_to, again=again)
    _insert(db, None, address, part, "direct", now)


def notices_to(db: apsw.Connection, chat_key: str, message_id: str) -> tuple[str, ...]:
    sql = "SELECT body FROM outbox WHERE chat_key = ? AND reply_to = ? AND turn_id IS NULL"
    return tuple(str(body) for (body,) in db.execute(sql, (chat_key, message_id)))


def start_preview(
    db: apsw.Connection, turn_id: str, address: Address, text: str, now: int
) -> tuple[int, str | None]:
    """Store a streamed preview before the platform is called (T7).

    Returns the row's id, and the platform's id of the preview if an earlier process sent it.
    """
    sql = "SELECT id, ph_id FROM outbox WHERE turn_id = ? AND final = 0"
    found = db.execute(sql, (turn_id,)).fetchone()
    if found is None:
        _insert(db, turn_id, address, Part(text), "edit", now, final=False)
        row, sent = db.last_insert_rowid(), None
    else:
        row, sent = found
    if sent is None:
        sending(db, row, "ph_sending", now)
    return row, sent


def _insert(
    db: apsw.Connection,
    turn_id: str | None,
    address: Address,
    part: Part,
    mode: str,
    now: int,
    *,
    final: bool = True,
) -> None:
    values = {"turn_id": turn_id, "chat_key": address.chat_key, "mode": mode, "final": final}
    db.execute(
        "INSERT INTO outbox(turn_id, part, channel, bot_id, chat_id, thread_id, chat_key, mode,"
        " body, markdown, reply_to, again, final, state, created_at, ended_at) VALUES(:turn_id,"
        " (SELECT coalesce(max(part) + 1, 0) FROM outbox WHERE turn_id = :turn_id),"
        " :channel, :bot_id, :chat_id, :thread_id, :chat_key, iif(:stored, 'direct', :mode),"
        " :text, :markdown, :reply_to, :again, :final, iif(:stored, 'delivered', 'queued'), :now,"
        " iif(:stored, :now, NULL))",
        {**vars(address), **vars(part), **values, "stored": mode == STORED, "now": now},
    )


def due(db: apsw.Connection, channel: str) -> list[OutboxRow]:
    """Return the next row of each chat of a channel; a chat's later rows wait for it.

    Previews are left out, and no row waits for them.
    """
    first = f"SELECT min(id) FROM outbox WHERE {OPEN} AND channel = ? AND final = 1"
    return OUTBOX.select(db, f"id IN ({first} GROUP BY chat_key)", channel)


def pop_unconfirmed(db: apsw.Connection, chat_key: str, now: int) -> list[str]:
    """Abandon the messages of a chat whose delivery is unknown, and return their texts."""
    sql = "SELECT id, body FROM outbox WHERE chat_key = ? AND state = 'unknown' ORDER BY id"
    unconfirmed = list(db.execute(sql, (chat_key,)))
    for row_id, _ in unconfirmed:
        end(db, row_id, "abandoned", "mentioned in the chat's next reply", now)
    return [str(body) for _, body in unconfirmed]


def texts_of_turn(db: apsw.Connection, turn_id: str) -> tuple[str, ...]:
    """Return the texts of a turn's messages in order, delivered or not."""
    sql = "SELECT body FROM outbox WHERE turn_id = ? AND final = 1 ORDER BY part"
    return tuple(str(body) for (body,) in db.execute(sql, (turn_id,)))


def sending(db: apsw.Connection, row_id: int, state: str, now: int) -> None:
    """Mark a row before the platform is called (T7), as ``ph_sending`` or ``sending``."""
    sql = "UPDATE outbox SET state = ?, attempt = attempt + 1, t_sending = ? WHERE id = ?"
    db.execute(sql, (state, now, row_id))


def placeholder_sent(db: apsw.Connection, row_id: int, message_id: str) -> None:
    """Store the platform's id of a placeholder or preview (T8)."""
    db.execute("UPDATE outbox SET state = 'ph_sent', ph_id = ? WHERE id = ?", (message_id, row_id))


def replacing(db: apsw.Connection, row_id: int, message_id: str, now: int) -> None:
    """Store a placeholder's id (T8) and mark the edit that puts the reply in its place (T7)."""
    placeholder_sent(db, row_id, message_id)
    sending(db, row_id, "sending", now)


def delivered(db: apsw.Connection, row_id: int, message_id: str | None, now: int) -> None:
    """Store that the platform accepted a message (T8), and its id there."""
    end(db, row_id, "delivered", None, now)
    db.execute("UPDATE outbox SET msg_id = ? WHERE id = ?", (message_id, row_id))


def close_silent(db: apsw.Connection, turn_id: str, now: int) -> None:
    """Close a turn whose reply is empty (T9), and abandon its preview."""
    sql = "UPDATE outbox SET state = 'abandoned', ended_at = ? WHERE turn_id = ? AND final = 0"
    db.execute(sql, (now, turn_id))
    db.execute(f"{CLOSE} AND id = ?", (turn_id,))


def end(db: apsw.Connection, row_id: int, state: str, error: str | None, now: int) -> None:
    """End a row; close its turn (T9) if this was the last one."""
    sql = "UPDATE outbox SET state = ?, error = ?, ended_at = ? WHERE id = ?"
    db.execute(sql, (state, error, now, row_id))
    db.execute(f"{CLOSE} AND id = (SELECT turn_id FROM outbox WHERE id = ?)", (row_id,))


def mark_unconfirmed(
    db: apsw.Connection, row_id: int, error: str, now: int, not_before: int
) -> None:
    """End a direct message as ``unknown``, or queue it again if it has repetitions left.

    ``not_before`` (milliseconds) is the earliest time of a repetition.
    """
    db.execute("UPDATE outbox SET again = again - 1 WHERE id = ? AND again > 0", (row_id,))
    if db.changes() == 1:
        requeue(db, row_id, error, not_before)
    else:
        end(db, row_id, "unknown", error, now)


def requeue(db: apsw.Connection, row_id: int, error: str, not_before: int) -> None:
    """Queue a row again, to be sent at ``not_before`` (milliseconds) or later."""
    db.execute(
        "UPDATE outbox SET state = CASE WHEN ph_id IS NULL THEN 'queued' ELSE 'ph_sent' END,"
        " error = ?, not_before = ? WHERE id = ?",
        (error, not_before, row_id),
    )


def forget_placeholder(db: apsw.Connection, row_id: int) -> None:
    """Queue a row again without its placeholder, so that a new message is sent."""
    db.execute("UPDATE outbox SET state = 'queued', ph_id = NULL WHERE id = ?", (row_id,))


def recover(db: apsw.Connection, now: int) -> None:
    """Classify at boot the rows that were being sent when the process died.

    In ``edit`` mode an edit is repeated, and a placeholder of unknown delivery is sent again. The
    delivery of a direct message is unknown.
    """
    db.execute(
        "UPDATE outbox SET state = CASE WHEN ph_id IS NULL THEN 'queued' ELSE 'ph_sent' END"
        f" WHERE {OPEN} AND mode = 'edit' AND state IN('ph_sending','sending')"
    )
    stuck = f"SELECT id FROM outbox WHERE {OPEN} AND mode = 'direct' AND state = 'sending'"
    for (row_id,) in list(db.execute(stuck)):
        mark_unconfirmed(db, row_id, "the process stopped while sending", now, now)
