"""The files of a chat's messages, for those who may see the chat."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import apsw
import orjson

from orchestrator.channel_api import OutboundFile
from orchestrator.journal.turns import stored_files
from orchestrator.journal.turns.inbox import CHAT
from thinker.formats.images import MEDIA_TYPES

AMONG = "IN (SELECT value FROM json_each(?))"
LINE = (
    "media_id, name, about, (SELECT length(data) FROM media WHERE id = media_id),"
    " (SELECT media_type FROM media WHERE id = media_id)"
)
# Where a file occurs: the key of the chat, and its name there.
PLACES = (
    f"SELECT {CHAT}, name FROM attachment JOIN inbox ON inbox.id = inbox_id WHERE media_id = ?1"
    " UNION ALL SELECT chat_key, file_name FROM outbox WHERE media_id = ?1"
    " UNION ALL SELECT chat_key, name FROM tool_file JOIN turn ON turn.id = turn_id"
    " WHERE media_id = ?1"
)


class FileLine(NamedTuple):
    """A file as a chat shows it. Without ``size`` its bytes are gone, or did not come."""

    media_id: str | None
    name: str
    about: str
    size: int | None
    picture: bool


def of_messages(db: apsw.Connection, ids: Sequence[int]) -> Mapping[int, list[FileLine]]:
    """Return what came with messages, by their ids in the inbox."""
    found: defaultdict[int, list[FileLine]] = defaultdict(list)
    sql = f"SELECT inbox_id, {LINE} FROM attachment WHERE inbox_id {AMONG} ORDER BY inbox_id, part"
    for row_id, *row in db.execute(sql, (orjson.dumps(ids).decode(),)):
        found[int(row_id)].append(_line(*row))
    return found


def of_calls(
    db: apsw.Connection, turn_ids: Sequence[str]
) -> Mapping[tuple[str, int], list[FileLine]]:
    """Return what tool calls made, by the turn and the number of the call."""
    found: defaultdict[tuple[str, int], list[FileLine]] = defaultdict(list)
    made = "(SELECT *, '' AS about FROM tool_file)"
    sql = f"SELECT turn_id, seq, {LINE} FROM {made} WHERE turn_id {AMONG} ORDER BY 1, 2, part"
    for turn_id, seq, *row in db.execute(sql, (orjson.dumps(turn_ids).decode(),)):
        found[str(turn_id), int(seq)].append(_line(*row))
    return found


def of_sent(db: apsw.Connection, media_id: str | None, name: str | None) -> list[FileLine]:
    """Return the file of a message that was sent, if it has one."""
    if media_id is None:
        return []
    sql = "SELECT length(data), media_type FROM media WHERE id = ?"
    size, kind = db.execute(sql, (media_id,)).fetchone() or (None, None)
    return [_line(media_id, name or "file", "", size, kind)]


def shown(db: apsw.Connection, media_id: str, sees: Callable[[str], bool]) -> OutboundFile | None:
    """Return a file, if it is in a chat that the caller sees."""
    places = db.execute(PLACES, (media_id,)).fetchall()
    name = next((str(name or "picture") for key, name in places if sees(str(key))), None)
    return None if name is None else stored_files.outbound(db, media_id, name)


def _line(
    media_id: str | None, name: str, about: str, size: int | None, kind: str | None
) -> FileLine:
    return FileLine(media_id, name or "picture", about, size, kind in MEDIA_TYPES)
