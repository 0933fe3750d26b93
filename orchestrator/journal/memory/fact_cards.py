"""The card: the facts that all prompts of a chat show from one sitting to the next.

It is written anew when a sitting begins (after two hours of silence, or with a new session) or when
more than five of its facts have changed, so that a model reads the same text in every turn and its
provider can cache that. It is stored as numbers: what is forgotten or ends leaves it at once.

Where: are the facts chosen that every prompt shows?
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import orjson

from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.facts import FACTS, NOTE, TRUSTED, Fact, find_current_fact
from orchestrator.journal.memory.memory_scope import MemoryScope
from thinker.protocol.methods import Memory

CARD_TOKENS = 600  # of a card, at four characters each
SMALL_CARD_TOKENS = 150  # for a small model
NOTES = 0.4  # share of them for notes, if there are more facts than fit
FRAME = 60  # characters of a line, or heading, beside the fact and its category
SITTING = 2 * 60 * 60 * 1000  # milliseconds of silence that end one
MAX_CHANGED = 5
MAX_NOTES = 10
MAX_CHOSEN = 60  # facts that are looked at for a card
# What the user is and has, by slots; then what was stated to be remembered; then the newest.
IMPORTANCE = (
    "CASE WHEN subject = 'user' AND slot <> '' THEN 0 WHEN source NOT LIKE 'extraction%' THEN 1"
    " ELSE 2 END"
)
STATE = (  # the card, and when something was said last
    "SELECT facts, memory_card.at, (SELECT at FROM message WHERE session_id = ? AND at < ?"
    " ORDER BY id DESC LIMIT 1) FROM (SELECT 1) AS one LEFT JOIN memory_card"
    " ON agent_id = ? AND scope = ?"
)
MEMORIES = "SELECT id, fact, category, origin, valid_from, created_at FROM fact WHERE "


class FactCard(NamedTuple):
    """The facts on a card by their ids, newest first, and the ids of a few ``newer`` ones."""

    known: Mapping[int, Memory]
    newer: Sequence[int] = ()


def load_card(
    db: Database, scope: MemoryScope, session_id: int | None, until: int, tokens: int
) -> FactCard:
    """Return a chat's card at the start of a turn (milliseconds).

    One that is due is written first, of at most so many ``tokens``; without a session, none is
    kept.
    """
    if session_id is None:
        return FactCard(_load_memories(db, scope, _choose_facts(db, scope, until, tokens), until))
    place = (scope.agent_id, scope.chat)
    stored, at, said = db.execute(STATE, (session_id, until, *place)).get
    ids = orjson.loads(stored) if stored else []
    known = _load_memories(db, scope, ids, until)
    newer = _list_newer_facts(db, scope, ids, at or 0, until) if at != until else []
    rests = said is not None and until - said <= SITTING  # a resumed turn may have begun it
    if at == until or (rests and len(ids) - len(known) + len(newer) <= MAX_CHANGED):
        return FactCard(known, newer)
    ids = _choose_facts(db, scope, until, tokens)
    db.execute(
        "INSERT INTO memory_card VALUES(?,?,?,?) ON CONFLICT(agent_id, scope)"
        " DO UPDATE SET facts = excluded.facts, at = excluded.at",
        (*place, orjson.dumps(ids).decode(), until),
    )
    return FactCard(_load_memories(db, scope, ids, until))


def measure_line(known: Fact | Memory) -> int:
    """Return the tokens of a fact's line in a prompt, at most."""
    return -(-(len(known.fact) + len(known.category) + FRAME) // 4)


def keep_fitting(found: Iterable[Fact], tokens: int) -> list[Fact]:
    """Return the facts whose lines fit into so many tokens, in their order."""
    kept = []
    for fact in found:
        size = measure_line(fact)
        if size <= tokens:
            tokens -= size
            kept.append(fact)
    return kept


def _list_newer_facts(
    db: Database, scope: MemoryScope, ids: Sequence[int], at: int, until: int
) -> list[int]:
    """Return the facts that are newer than a card, newest first, one more than it may lack."""
    where, values = scope.build_open_condition(until)
    newer = (
        f"SELECT id FROM fact WHERE {where} AND id > ? AND created_at > ?"
        f" AND category <> '{NOTE}' AND origin IN{TRUSTED} ORDER BY id DESC LIMIT ?"
    )
    rows = db.execute(newer, (*values, max(ids, default=0), at, MAX_CHANGED + 1))
    return [number for (number,) in rows]


def _load_memories(
    db: Database, scope: MemoryScope, ids: Sequence[int], until: int
) -> dict[int, Memory]:
    if not ids:
        return {}
    where, values = scope.build_open_condition(until)
    where += f" AND id IN({','.join('?' * len(ids))}) ORDER BY id DESC"
    rows = db.execute(MEMORIES + where, (*values, *ids))
    names = ("fact", "category", "origin", "since", "stored")
    return {
        number: Memory.model_validate(dict(zip(names, values, strict=True), standing=True))
        for number, *values in rows
    }


def _choose_facts(db: Database, scope: MemoryScope, until: int, tokens: int) -> list[int]:
    """Return the ids of the facts for a card; others' words would make every turn suspect."""
    where, values = scope.build_open_condition(until)
    where += f" AND origin IN{TRUSTED} AND category"
    notes = FACTS.select(db, f"{where} = ? ORDER BY id DESC LIMIT ?", *values, NOTE, MAX_NOTES)
    order = f"ORDER BY {IMPORTANCE}, id DESC LIMIT ?"
    stated = FACTS.select(db, f"{where} <> ? {order}", *values, NOTE, MAX_CHOSEN)
    first = keep_fitting(notes, round(NOTES * tokens))
    current = [  # what begins later does not hide what is true
        fact
        for fact in stated
        if (fact.valid_from or 0) > until or find_current_fact(db, scope, fact, until) == fact
    ]
    known = [*first, *current, *notes[len(first) :]]
    return [fact.id for fact in keep_fitting(known, tokens - FRAME // 2)]
