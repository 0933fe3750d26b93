"""The place of a turn or a file in the history of a chat, for links to it."""

from collections.abc import Callable

from orchestrator.channel_api import OutboundFile
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect.chat_files import PLACES
from orchestrator.journal.inspect.chat_history import OF_CHAT, PAGE, TOLD, ChatPlace, split_chat_key
from orchestrator.journal.turns import stored_files


def find_page_of_turn(db: Database, key: str, turn_id: str) -> ChatPlace | None:
    """Return the end of a page with a turn of a chat; None if the turn is unknown there."""
    asked = "SELECT max(id) FROM inbox WHERE turn_id = ? AND chat_key = ?"
    row = db.execute(asked, (turn_id, key)).get
    if row is None:
        return None
    where = (
        f"SELECT id, received_at FROM inbox WHERE {OF_CHAT} AND id > ? ORDER BY id LIMIT 1 OFFSET ?"
    )
    later = db.execute(where, (*split_chat_key(key), key, row, PAGE // 4)).fetchone()
    if later is None:
        return ChatPlace()
    told = f"SELECT min(id) FROM outbox WHERE {TOLD} AND created_at >= ?"
    return ChatPlace(int(later[0]), db.execute(told, (key, later[1])).get or ChatPlace().outbox)


def find_visible_file(
    db: Database, media_id: str, sees: Callable[[str], bool]
) -> OutboundFile | None:
    """Return a file that is in a chat visible to the caller, or None."""
    places = db.execute(PLACES, (media_id,)).fetchall()
    name = next((str(name or "picture") for key, name in places if sees(str(key))), None)
    return None if name is None else stored_files.find_outbound_file(db, media_id, name)
