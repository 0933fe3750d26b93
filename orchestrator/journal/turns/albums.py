"""Albums: pictures sent together that arrive as one message each.

The first part represents the album: when a later part is stored (T1), its text and pictures move
to the first one. T2 waits until no part has come for a moment. A part that comes after T2 is a
separate message.
"""

from orchestrator.channel_api import NOT_ADDRESSED
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns.waiting_messages import lock_waiting_messages

MAX_PARTS = 10  # parts, Telegram's limit; with so many an album is complete
QUIET_MS = 1000  # milliseconds without a new part after which an album counts as complete
SAME = "chat_key = ? AND album = ?"


def is_album_addressed(db: Database, chat_key: str, album: str) -> bool:
    """Return whether a stored part addresses the bot: only one part has the caption."""
    sql = f"SELECT EXISTS(SELECT 1 FROM inbox WHERE {SAME} AND state <> 'cancelled')"
    return bool(db.execute(sql, (chat_key, album)).get)


def join_album(db: Database, row_id: int, chat_key: str, album: str) -> None:
    """Add a part that was just stored to its album's first waiting message.

    Earlier parts that did not address the bot are addressed by this one: their pictures join too.
    """
    head = min(lock_waiting_messages(db, SAME, chat_key, album))
    if _count_parts(db, chat_key, album) > MAX_PARTS:
        return
    db.execute(  # numbered so that pictures stand in the order of their messages
        f"UPDATE attachment SET inbox_id = ?, part = inbox_id * {MAX_PARTS} + part WHERE"
        f" inbox_id IN (SELECT id FROM inbox WHERE {SAME} AND (id = ? OR state = 'cancelled' AND"
        " error = ?))",
        (head, chat_key, album, row_id, NOT_ADDRESSED),
    )
    if head == row_id:
        return
    db.execute(
        "UPDATE inbox SET text = trim(inbox.text || '\n' || part.text, '\n')"
        " FROM inbox AS part WHERE part.id = ? AND inbox.id = ?",
        (row_id, head),
    )
    # The part keeps its caption, which may yet be corrected.
    db.execute("UPDATE inbox SET state = 'done', ended_at = received_at WHERE id = ?", (row_id,))


def compute_album_wait(db: Database, chat_key: str, album: str | None, now: int, since: int) -> int:
    """Return the milliseconds for which a message must wait for more parts of its album.

    ``since`` is when this process began to receive: parts may have come late because of that.
    """
    if album is None or _count_parts(db, chat_key, album) >= MAX_PARTS:
        return 0
    sql = f"SELECT max(received_at) FROM inbox WHERE {SAME}"
    quiet = now - max(since, int(db.execute(sql, (chat_key, album)).get or 0))
    return QUIET_MS - quiet if 0 <= quiet < QUIET_MS else 0  # the clock may have been set back


def _count_parts(db: Database, chat_key: str, album: str) -> int:
    return int(db.execute(f"SELECT count(*) FROM inbox WHERE {SAME}", (chat_key, album)).get)
