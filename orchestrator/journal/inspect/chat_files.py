"""The files of a chat's messages, for those who may see the chat."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import orjson

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns.inbox import CHAT
from thinker.formats.images import MEDIA_TYPES

NUMBERED = "IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
NAMED = "IN (SELECT value FROM json_each(?))"
LINE = (
    "media_id, (SELECT length(data) FROM media WHERE id = media_id),"
    " (SELECT media_type FROM media WHERE id = media_id)"
)
STATES = {"wanted": "not fetched yet", "given up": "could not be fetched"}
# Where a file occurs: the key of the chat, and its name there.
PLACES = (
    f"SELECT {CHAT}, name FROM attachment JOIN inbox ON inbox.id = inbox_id WHERE media_id = ?1"
    " UNION ALL SELECT chat_key, file_name FROM outbox WHERE media_id = ?1"
    " UNION ALL SELECT chat_key, name FROM tool_file JOIN turn ON turn.id = turn_id"
    " WHERE media_id = ?1"
)


class FileLine(NamedTuple):
    """A file as a chat shows it; with a ``problem``, only its name can be shown."""

    name: str
    media_id: str
    size: int
    picture: bool
    sound: bool = False
    problem: str = ""


def list_message_files(db: Database, ids: Sequence[int]) -> Mapping[int, list[FileLine]]:
    """Return the files of messages, keyed by the messages' ids in the inbox."""
    found: defaultdict[int, list[FileLine]] = defaultdict(list)
    about = "inbox_id, ifnull(nullif(name, ''), about), state"
    sql = (
        f"SELECT {about}, {LINE} FROM attachment WHERE inbox_id {NUMBERED} ORDER BY inbox_id, part"
    )
    rows = db.execute(sql, (orjson.dumps(ids).decode(),))
    for row_id, name, state, media_id, size, kind in rows:
        problem = "" if media_id else STATES.get(state, "")
        found[int(row_id)].append(_build_file_line(name, media_id, size, kind, problem))
    return found


def list_call_files(
    db: Database, turn_ids: Sequence[str]
) -> Mapping[tuple[str, int], list[FileLine]]:
    """Return the files made by tool calls, keyed by turn and call number."""
    found: defaultdict[tuple[str, int], list[FileLine]] = defaultdict(list)
    sql = f"SELECT turn_id, seq, name, {LINE} FROM tool_file WHERE turn_id {NAMED} ORDER BY 1, 2"
    for turn_id, seq, *row in db.execute(sql, (orjson.dumps(turn_ids).decode(),)):
        found[str(turn_id), int(seq)].append(_build_file_line(*row))
    return found


def list_sent_files(db: Database, media_id: str | None, name: str | None) -> list[FileLine]:
    """Return the file of a sent message, if it has one."""
    if media_id is None:
        return []
    sql = "SELECT length(data), media_type FROM media WHERE id = ?"
    size, kind = db.execute(sql, (media_id,)).fetchone() or (None, None)
    return [_build_file_line(name or "file", media_id, size, kind)]


def _build_file_line(
    name: str, media_id: str | None, size: int | None, kind: str | None, problem: str = ""
) -> FileLine:
    if size is None:
        problem = problem or "removed because of its age"
    sound = (kind or "").startswith("audio/")
    return FileLine(name, media_id or "", size or 0, kind in MEDIA_TYPES, sound, problem)
