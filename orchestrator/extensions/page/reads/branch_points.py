"""Points of a chat from which another conversation goes on, and what has happened since."""

from collections.abc import Sequence
from typing import NamedTuple

import orjson

from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect.turn_search import FoundTurn, list_turns_by_id

MAX_LATER = 500  # turns after a point
_LATER = (
    "SELECT turn.id FROM turn WHERE session_id IN("
    " SELECT id FROM session WHERE agent_id = ?1 AND chat_key = ?2) AND turn.started_at >"
    " (SELECT started_at FROM turn WHERE id = ?3)"
    f" ORDER BY turn.started_at LIMIT {MAX_LATER}"
)
_CALLS = (
    "SELECT name, count(*) FROM step WHERE turn_id IN(SELECT value FROM json_each(?))"
    " AND kind = 'tool' AND class NOT IN('pure','local_tx') AND state IN('done','unknown','intent')"
    " GROUP BY name ORDER BY min(t_plan) LIMIT 50"
)
_PARENT = (
    "SELECT parent.chat_key, (SELECT turn_id FROM message WHERE message.id = session.parent_upto)"
    " FROM session JOIN session AS parent ON parent.id = session.parent_id"
    " WHERE session.chat_key = ?1 AND parent.chat_key <> ?1 ORDER BY session.id LIMIT 1"
)
_LEFT = (
    "SELECT turn.id FROM session AS child JOIN session AS parent ON parent.id = child.parent_id"
    " JOIN message AS point ON point.id = child.parent_upto"
    " JOIN turn AS last ON last.id = point.turn_id JOIN turn ON turn.session_id IN("
    " SELECT id FROM session WHERE chat_key = ?1) AND turn.started_at > last.started_at"
    " AND turn.started_at < child.started_at"
    " WHERE child.chat_key = ?1 AND parent.chat_key = ?1"
)


class TurnPoint(NamedTuple):
    """A turn after which a conversation may go on.

    ``later`` counts the turns that follow it in its chat, ``calls`` are the tools with effects
    outside that these have called, each with how often.
    """

    turn: FoundTurn
    later: int
    calls: Sequence[tuple[str, int]]


class ChatParent(NamedTuple):
    """The chat from which another one was forked, and the turn after which it was."""

    key: str
    turn_id: str | None


def find_branch_point(db: Database, turn_id: str) -> TurnPoint | None:
    """Return the point after a turn; None if the turn does not exist."""
    found = list_turns_by_id(db, [turn_id])
    if not found:
        return None
    turn = found[0]
    rows = db.execute(_LATER, (turn.agent_id, turn.chat_key, turn.id))
    later = [str(one) for (one,) in rows]
    calls = [(str(name), int(count)) for name, count in db.execute(_CALLS, (_dump(later),))]
    return TurnPoint(turn, len(later), calls)


def find_chat_parent(db: Database, key: str) -> ChatParent | None:
    """Return where a chat was forked from; None if it was not."""
    found = db.execute(_PARENT, (key,)).fetchone()
    return None if found is None else ChatParent(*found)


def list_left_turns(db: Database, key: str) -> frozenset[str]:
    """Return the turns of a chat that rewinds have left behind."""
    return frozenset(str(turn) for (turn,) in db.execute(_LEFT, (key,)))


def _dump(ids: Sequence[str]) -> str:
    return orjson.dumps(ids).decode()
