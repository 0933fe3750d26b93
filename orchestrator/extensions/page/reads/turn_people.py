"""The people of turns: who writes in their chats, and how long turns waited for a decision."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import orjson

from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect.chat_files import NAMED
from orchestrator.journal.inspect.chat_history import OF_CHAT, split_chat_key
from orchestrator.journal.inspect.turn_search import FoundTurn

_DECISIONS = (
    f"SELECT turn_id, asked_at, decided_at FROM approval WHERE turn_id {NAMED}"
    " AND decided_at > asked_at AND asked_with IS NULL"
)
_ADMISSIONS = (
    "SELECT turn_id, min(received_at), max(decided_at) FROM inbox JOIN pairing"
    " ON pairing.channel = inbox.channel AND pairing.chat_id = inbox.chat_id"
    f" WHERE turn_id {NAMED} AND decided_at > received_at AND pairing.state = 'approved'"
    " GROUP BY turn_id"
)


class TurnPeople(NamedTuple):
    """``senders`` by chat key, ``waits`` for people in milliseconds by turn."""

    senders: Mapping[str, str] = MappingProxyType({})
    waits: Mapping[str, int] = MappingProxyType({})


NO_PEOPLE = TurnPeople()


def load_turn_people(db: Database, turns: Sequence[FoundTurn]) -> TurnPeople:
    """Return the people of these turns."""
    return TurnPeople(
        find_senders(db, (turn.chat_key for turn in turns)),
        load_people_waits(db, [turn.id for turn in turns]),
    )


def find_senders(db: Database, keys: Iterable[str]) -> dict[str, str]:
    """Return who wrote last in each chat, where that is known."""
    found = {}
    for key in set(keys):
        name = db.execute(
            f"SELECT sender_name FROM inbox WHERE {OF_CHAT} AND kind = 'message'"
            " ORDER BY id DESC LIMIT 1",
            (*split_chat_key(key), key),
        ).get
        if name:
            found[key] = str(name)
    return found


def load_people_waits(db: Database, turn_ids: Sequence[str]) -> dict[str, int]:
    """Return how long turns waited for decisions: about their calls, and to let a chat in."""
    spans: dict[str, list[tuple[int, int]]] = {}
    for sql in (_DECISIONS, _ADMISSIONS):
        for turn_id, began, ended in db.execute(sql, (orjson.dumps(turn_ids).decode(),)):
            spans.setdefault(str(turn_id), []).append((int(began), int(ended)))
    return {turn_id: _measure_union(found) for turn_id, found in spans.items()}


def _measure_union(spans: Iterable[tuple[int, int]]) -> int:
    """Return the time that at least one of the spans covers."""
    whole, last = 0, 0
    for began, ended in sorted(spans):
        whole += max(0, ended - max(began, last))
        last = max(last, ended)
    return whole
