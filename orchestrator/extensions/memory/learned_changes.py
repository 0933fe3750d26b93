"""Store what an extraction found: new facts, changes of known ones, notes.

What others wrote changes nothing that the user said, and what people stated themselves is only
proposed to be replaced: the newer statement is stored beside the older one, with a date and under
the same slot.

Where: is it decided whether a conversation changes a known fact?
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from orchestrator.extensions.memory import fact_changes, forgotten_facts
from orchestrator.extensions.memory.fact_changes import EXTRACTION, RefusedFactError, Statement
from orchestrator.extensions.memory.memory_requests import ExtractedFact, ExtractedNote
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import facts
from orchestrator.journal.memory.facts import FACTS, Fact
from orchestrator.journal.memory.memory_scope import MemoryScope
from thinker.protocol.messages import UNTRUSTED, Origin

MAX_SLOT = 30  # open facts of one slot that are looked at


class LearnedFrom(NamedTuple):
    """The part of a conversation that was looked through.

    ``source`` and ``origin`` are those of the facts. ``said`` has the times of the user's messages
    by id, in milliseconds; the last one counts for a fact whose message is not known.
    """

    memory: MemoryScope
    source: str
    origin: Origin
    said: Mapping[int, int]


class LearnedChanges(NamedTuple):
    """The ids of facts and notes that were stored, and of facts that were replaced or ended."""

    new: tuple[int, ...] = ()
    ended: tuple[int, ...] = ()
    notes: tuple[int, ...] = ()

    def count_rows(self) -> dict[str, int]:
        """Return their numbers by name, as the log has them."""
        return {name: len(ids) for name, ids in self._asdict().items()}


def store_changes(
    db: Database,
    part: LearnedFrom,
    found: Iterable[ExtractedFact],
    notes: Iterable[ExtractedNote],
    now: int,
) -> LearnedChanges:
    """Store facts, changes and notes; what has a secret or was forgotten before is left out."""
    new: list[int] = []
    ended: list[int] = []
    for item in found:
        with suppress(RefusedFactError):
            stored, closed = _store_change(db, part, item, now)
            new += stored
            ended += closed
    kept: list[int] = []
    for note in notes:
        with suppress(RefusedFactError):
            kept += _store(db, part, _build_note(part, note, now), now)
    return LearnedChanges(tuple(new), tuple(ended), tuple(kept))


def list_slot_facts(db: Database, memory: MemoryScope, subject: str, slot: str) -> list[Fact]:
    """Return the open facts of a subject's slot, newest first, at most `MAX_SLOT`."""
    where, values = memory.build_fact_condition()
    where += " AND valid_to IS NULL AND subject = ? AND slot = ? ORDER BY id DESC LIMIT ?"
    return FACTS.select(db, where, *values, subject, slot, MAX_SLOT)


def find_older_facts(db: Database, memory: MemoryScope, shown: Iterable[Fact]) -> dict[int, int]:
    """Return, by the numbers of open facts, the older open fact of the slot that each may replace.

    Two of one slot are open when what a person stated is only proposed to be replaced, or when the
    change was not noticed; prompts have the newest.
    """
    newer = {fact.id for fact in shown if fact.slot and fact.valid_to is None}
    if not newer:
        return {}
    where, values = memory.build_fact_condition()
    rows = db.execute(
        f"SELECT id, subject, slot FROM fact WHERE {where} AND valid_to IS NULL AND slot <> ''"
        " ORDER BY id",
        values,
    )
    before: dict[tuple[str, str], int] = {}
    older: dict[int, int] = {}
    for number, subject, slot in rows:
        if number in newer and (subject, slot) in before:
            older[number] = before[subject, slot]
        before[subject, slot] = number
    return older


def _store_change(
    db: Database, part: LearnedFrom, item: ExtractedFact, now: int
) -> tuple[list[int], list[int]]:
    """Return the ids of the facts that were stored, and of those that were ended.

    Raises:
        RefusedFactError: the fact has a secret.
    """
    old = None if item.target is None else facts.find_fact(db, part.memory, item.target)
    if old is not None and (old.valid_to is not None or old.category == facts.NOTE):
        old = None  # it was changed meanwhile
    statement = _build_statement(part, item)
    if old is None:
        return (_store(db, part, statement, now) if item.change in ("add", "replace") else []), []
    if item.change == "same" or (item.change == "replace" and _have_same_value(statement, old)):
        return _store(db, part, replace(statement, fact=old.fact), now), []
    if part.origin in UNTRUSTED and old.origin not in UNTRUSTED:
        return (_store(db, part, statement, now) if item.change == "replace" else []), []
    if old.origin not in UNTRUSTED and not old.source.startswith(EXTRACTION):
        return _propose_replacement(db, part, old, statement, now), []
    return _change_fact(db, part, item, old, now)


def _change_fact(
    db: Database, part: LearnedFrom, item: ExtractedFact, old: Fact, now: int
) -> tuple[list[int], list[int]]:
    """End or replace a fact that was found in a conversation."""
    statement = _build_statement(part, item)
    if item.change == "end":
        at, origin = statement.valid_from, part.origin
        fact_changes.end_fact(db, part.memory, old.id, "extraction", now, at, origin)
        return [], [old.id]
    if forgotten_facts.is_forgotten(db, part.memory, statement):
        return [], []
    stored = fact_changes.replace_fact(db, part.memory, old.id, statement, now)
    return ([stored.id] if stored.new else []), ([] if stored.id == old.id else [old.id])


def _propose_replacement(
    db: Database, part: LearnedFrom, old: Fact, statement: Statement, now: int
) -> list[int]:
    """Store what may replace a fact that a person stated, under the same subject and slot."""
    if not statement.fact:
        return []
    if old.slot:
        statement = replace(statement, subject=old.subject, slot=old.slot)
    elif statement.slot:
        fact_changes.name_slot(db, part.memory, old.id, statement.subject, statement.slot)
    return _store(db, part, statement, now)


def _store(db: Database, part: LearnedFrom, statement: Statement, now: int) -> list[int]:
    """Store a statement; return its id if it is new.

    What others wrote gets no slot, in which it would stand before what the user said.
    """
    if forgotten_facts.is_forgotten(db, part.memory, statement):
        return []
    known = _find_same_value(db, part.memory, statement)
    if known is not None:
        statement = replace(statement, fact=known.fact)
    if part.origin in UNTRUSTED:
        statement = replace(statement, subject="", slot="")
    stored = fact_changes.store_statement(db, part.memory, statement, now)
    return [stored.id] if stored is not None and stored.new else []


def _find_same_value(db: Database, memory: MemoryScope, statement: Statement) -> Fact | None:
    """Return the open fact that says the same in other words, as the same value of its slot."""
    if not statement.slot:
        return None
    same = list_slot_facts(db, memory, statement.subject, statement.slot)
    return next((one for one in same if _have_same_value(statement, one)), None)


def _have_same_value(statement: Statement, fact: Fact) -> bool:
    value = forgotten_facts.extract_value(statement)
    same = (statement.subject, statement.slot) == (fact.subject, fact.slot)
    return same and bool(value) and value == forgotten_facts.extract_value(fact)


def _build_statement(part: LearnedFrom, item: ExtractedFact) -> Statement:
    """Return a fact as a statement; a change without a date counts from when it was said."""
    last = next(reversed(part.said), None)
    said_in = item.said_in if item.said_in in part.said else last
    changes = item.change in ("replace", "end")
    since = part.said.get(said_in or 0) if changes and item.since is None else item.since
    return Statement(
        fact=item.fact,
        category=item.category,
        source=part.source,
        confidence=item.confidence,
        origin=part.origin,
        said_in=said_in,
        valid_from=since,
        subject=item.subject,
        slot=item.slot,
    )


def _build_note(part: LearnedFrom, note: ExtractedNote, now: int) -> Statement:
    """Return a note as a statement; one of no day, or of a coming one, is of the last message's."""
    last = next(reversed([*part.said.values()]), None)
    return Statement(
        fact=note.text,
        category=facts.NOTE,
        source=part.source,
        origin=part.origin,
        valid_from=last if note.day is None or note.day > now else note.day,
    )
