"""Corrections: what an edit or a removal does to a message that still waits for its answer.

The waiting row gets the new words and keeps its place in line, so it is answered once. A turn that
has begun is not changed: then the new words come as a message of their own, with the old ones.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

from orchestrator.channel_api import EDIT, InboundMessage
from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.turns import albums, attachments
from orchestrator.journal.turns.waiting_messages import lock_waiting_messages
from thinker.protocol.messages import QuotedMessage

REPLACED = "its words replaced those that waited"
ANSWERED = "an edit of a message that was answered"
OLDER = "an older wording"
FOREIGN = "an edit of another person's message"
DELETED = "deleted in its chat"
SAME = "channel = ? AND bot_id = ? AND chat_id = ? AND message_id = ?"


@dataclass(frozen=True)
class StoredWording:
    """One version of a message."""

    id: int
    update_id: int | None
    chat_key: str
    sender_id: str
    edit_date: int
    kind: str
    state: str
    text: str
    album: str | None
    turn_id: str | None


WORDINGS = Rows(StoredWording, "inbox")


class Correction(NamedTuple):
    """What becomes of an edit: the reason why it is no message, or the words that it corrects."""

    refusal: str | None = None
    quote: QuotedMessage | None = None


def admit_edit(db: Database, message: InboundMessage) -> bool:
    """Return whether an edit is new; False for one that comes again.

    A stored edit of the same second leaves its place to a new one: platforms date in seconds.
    """
    known = _list_wordings(db, message)
    same = [row for row in known if (row.kind, row.edit_date) == (EDIT, message.edit_date)]
    if message.update_id is not None:
        if any(row.update_id == message.update_id for row in known):
            return False
    elif same and not _has_new_words(known, message):
        return False
    for row in same:
        db.execute("UPDATE inbox SET edit_date = -id WHERE id = ?", (row.id,))
    return True


def _has_new_words(known: list[StoredWording], message: InboundMessage) -> bool:
    """Return whether an edit without a number says what no wording says, before the answer."""
    unanswered = any(row.state in ("new", "claimed") for row in known)
    return unanswered and all(row.text != message.text for row in known)


def correct_message(db: Database, message: InboundMessage, now: int) -> Correction:
    """Replace the waiting words of an edited message; return what becomes of the edit."""
    lock_waiting_messages(db, SAME, *_name_message(message))
    known = _list_wordings(db, message)
    if not known:
        return Correction()
    if any(row.sender_id != message.sender_id for row in known):
        return Correction(FOREIGN)
    if message.edit_date < max(row.edit_date for row in known):
        return Correction(OLDER)
    quote = message.quote
    if begun := [row for row in known if row.state == "claimed"]:
        quote = QuotedMessage(kind="correction", by="sender", text=begun[-1].text)
    if (waiting := _find_waiting(db, known)) is not None:
        _replace_words(db, *waiting, replace(message, quote=quote), now)
        return Correction(REPLACED)
    if begun:
        return Correction(quote=quote)
    return Correction(ANSWERED if any(row.state == "done" for row in known) else None)


def correct_held_text(db: Database, message: InboundMessage) -> bool:
    """Replace the words of a message that waits for its chat's admission; False if none does."""
    ids = f"SELECT id FROM inbox WHERE {SAME}"
    sql = f"UPDATE held SET text = ? WHERE inbox_id IN({ids})"
    db.execute(sql, (message.text, *_name_message(message)))
    return bool(db.changes())


def withdraw_message(db: Database, message: InboundMessage, now: int) -> None:
    """Cancel a waiting message that was deleted, and forget its words; others stay."""
    ids = f"SELECT id FROM inbox WHERE {SAME}"
    db.execute(f"DELETE FROM held WHERE inbox_id IN({ids})", _name_message(message))
    lock_waiting_messages(db, SAME, *_name_message(message))
    waiting = _find_waiting(db, _list_wordings(db, message))
    if waiting is None:
        return
    row, part = waiting
    _replace_words(db, row, part, message, now)
    db.execute(
        "UPDATE inbox SET state = 'cancelled', ended_at = ?, error = ? WHERE id = ?"
        " AND state = 'new' AND text = ''"
        " AND NOT EXISTS(SELECT 1 FROM attachment WHERE inbox_id = inbox.id)",
        (now, DELETED, row.id),
    )


def _list_wordings(db: Database, message: InboundMessage) -> list[StoredWording]:
    return WORDINGS.select(db, f"{SAME} ORDER BY id", *_name_message(message))


def _name_message(message: InboundMessage) -> tuple[str, str, str, str]:
    return message.channel, message.bot_id, message.chat_id, message.message_id


def _find_waiting(
    db: Database, known: list[StoredWording]
) -> tuple[StoredWording, StoredWording] | None:
    """Return the waiting row with a message's words, and the row of the message itself.

    They differ for a part of an album, which has moved to the first part.
    """
    for row in reversed(known):
        if row.state == "new":
            return row, row
        if row.album and row.state == "done" and row.turn_id is None:
            lock_waiting_messages(db, albums.SAME, row.chat_key, row.album)
            waits = f"{albums.SAME} AND state = 'new' ORDER BY id LIMIT 1"
            found = WORDINGS.find_first(db, waits, row.chat_key, row.album)
            if found is not None:
                return found, row
    return None


def _replace_words(
    db: Database, row: StoredWording, part: StoredWording, message: InboundMessage, now: int
) -> None:
    """Give a waiting row the words and files of ``message``, in place of those of ``part``."""
    text, numbers = message.text, (0, albums.MAX_PARTS)
    if row.album:
        text = _join_captions(db, row, part, text)
        numbers = (part.id * albums.MAX_PARTS, (part.id + 1) * albums.MAX_PARTS)
    quote = message.quote and message.quote.model_dump_json(exclude_defaults=True)
    db.execute(
        "UPDATE inbox SET text = ?, origin = ?, quote = ? WHERE id = ? AND state = 'new'",
        (text, message.origin, quote, row.id),
    )
    db.execute(
        "DELETE FROM attachment WHERE inbox_id = ? AND part >= ? AND part < ?", (row.id, *numbers)
    )
    attachments.store_attachments(
        db, row.id, message.channel, message.attachments, now, first=numbers[0]
    )
    db.execute(
        "INSERT INTO transition(at, kind, number, state, note) VALUES(?,'inbox',?,'new',?)",
        (now, row.id, "changed in its chat"),
    )


def _join_captions(db: Database, head: StoredWording, part: StoredWording, text: str) -> str:
    """Return the text of an album in which a part has another caption, which the part keeps."""
    moved = f"{albums.SAME} AND id > ? AND state = 'done' ORDER BY id"
    others = WORDINGS.select(db, moved, head.chat_key, head.album, head.id)
    own = head.text.removesuffix("\n".join(filter(None, [other.text for other in others])))
    captions = {head.id: own.strip("\n")} | {other.id: other.text for other in others}
    captions[part.id] = text
    if part.id != head.id:
        db.execute("UPDATE inbox SET text = ? WHERE id = ?", (text, part.id))
    return "\n".join(filter(None, captions.values()))
