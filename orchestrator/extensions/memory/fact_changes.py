"""Store, replace, end and forget facts, and undo such a change for a day.

A fact is a statement with a time and a source. A change closes the old statement and opens a new
one, so that what was known before can be listed and restored. Only forgetting deletes.

Where: is a fact replaced by a newer one?
"""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.extensions.memory import fact_keywords, fact_reads, forgotten_facts
from orchestrator.extensions.memory.fact_dates import TAKEN_BACK
from orchestrator.extensions.memory.fact_lines import clean_sentence
from orchestrator.journal.db import audit, liveness
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.dialect import get_dialect
from orchestrator.journal.memory import facts
from orchestrator.journal.memory.facts import FACTS, Fact
from orchestrator.journal.memory.memory_scope import FORGOTTEN, MemoryScope
from orchestrator.journal.memory.secret_filter import detect_secret_kind
from orchestrator.journal.turns import shown_texts
from thinker.protocol.messages import UNTRUSTED, Origin

By: TypeAlias = Literal["user", "operator", "agent", "extraction"]  # who makes a change
PEOPLE = ("user", "operator")  # whose changes are in the audit log
EXTRACTION = "extraction"  # begins the source of what was found in a conversation
WITHDRAWN = f"{FORGOTTEN} by undo"  # ended a fact whose storing was undone, with no earlier one
DAY = 24 * 60 * 60 * 1000  # milliseconds in which a change can be undone
EARLIEST, LATEST = -2_208_988_800_000, 7_258_118_400_000  # 1900 and 2200, beyond which is no time
MAX_NAME = 60  # characters of a subject and of a slot
MAX_SIMILAR = 3  # facts about the same that are named when one is stored
SIMILAR = 0.3  # share of the smaller set of keywords that facts about the same have in common
LAST = "last_fact"  # in `meta`: the number of the last fact that was stored
GONE = f"ended_by LIKE '{FORGOTTEN}%'"


class RefusedFactError(OrchestratorError):
    """The change of a fact is not allowed; the message says what is."""


@dataclass(frozen=True)
class Statement:
    """A sentence to store, without controls; the fields are those of a `Fact`."""

    fact: str
    category: str
    source: str
    confidence: float = 1.0
    origin: Origin = "user"
    said_in: int | None = None
    valid_from: int | None = None
    subject: str = ""
    slot: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "fact", clean_sentence(self.fact))


class StoredFact(NamedTuple):
    """The result of storing a fact; ``similar`` are open facts that may say the same or the old."""

    id: int
    new: bool
    similar: tuple[Fact, ...] = ()


def store_statement(
    db: Database, scope: MemoryScope, statement: Statement, now: int
) -> StoredFact | None:
    """Store a fact; a known one only gets a new update time and a better origin.

    Returns None for what was forgotten and is only found again in a conversation. Stated anew, it
    is stored, and may be found again.

    Raises:
        RefusedFactError: the text is empty or contains a secret.
    """
    _require_storable(statement)
    if statement.source.startswith(EXTRACTION):
        if forgotten_facts.is_forgotten(db, scope, statement):
            return None
    else:
        forgotten_facts.unmark_forgotten(db, scope, [statement])
    known = _find_open_id(db, scope, statement.fact)
    if known is not None:
        better = None if statement.origin in UNTRUSTED else statement.origin
        db.execute(
            "UPDATE fact SET updated_at = ?, origin = coalesce(?, origin) WHERE id = ?",
            (now, better, known),
        )
        return StoredFact(known, new=False)
    similar = _list_similar_facts(db, scope, statement, now)
    return StoredFact(_insert(db, scope, statement, now), new=True, similar=similar)


def replace_fact(
    db: Database, scope: MemoryScope, old_id: int, statement: Statement, now: int
) -> StoredFact:
    """Close an open fact and store what is true instead, in the same memory.

    The old one ends when the new one begins, or now. An unknown subject or slot stays as it was.
    If another open fact says this already, that one is the replacement; if the old one itself says
    it, only its other fields change.

    Raises:
        UnknownNameError: the memory has no such open fact.
        RefusedFactError: the text is empty or contains a secret, or is of others, and the user or
            operator stated the old fact.
    """
    _require_storable(statement)
    old = _require_open_fact(db, scope, old_id, now)
    _require_right(old, statement.origin)
    until = now if statement.valid_from is None else statement.valid_from
    named = replace(
        statement, subject=statement.subject or old.subject, slot=statement.slot or old.slot
    )
    known = _find_open_id(db, scope, statement.fact)
    if known == old_id:
        _revise(db, old_id, named, now)
        return StoredFact(old_id, new=False)
    forgotten_facts.unmark_forgotten(db, scope, [named])
    number = known or _insert(db, _narrow_scope(db, scope, old_id), named, now)
    _close(db, old_id, until, f"fact {number}", now)
    return StoredFact(number, new=known is None)


def name_slot(db: Database, scope: MemoryScope, fact_id: int, subject: str, slot: str) -> None:
    """Give a fact of no slot one, so that a newer statement about the same is known for one."""
    where, values = scope.build_fact_condition()
    db.execute(
        f"UPDATE fact SET subject = ?, slot = ? WHERE {where} AND id = ? AND slot = ''",
        (normalize_name(subject), normalize_name(slot), *values, fact_id),
    )


def end_fact(
    db: Database,
    scope: MemoryScope,
    fact_id: int,
    by: By,
    now: int,
    at: int | None = None,
    origin: Origin = "user",
) -> Fact:
    """Close a fact that is no longer true, from ``at`` (milliseconds; default: now) on.

    ``origin`` is whose words say so.

    Raises:
        UnknownNameError: the memory has no such open fact.
        RefusedFactError: the words of others do not end what the user or operator stated.
    """
    old = _require_open_fact(db, scope, fact_id, now)
    _require_right(old, origin)
    _close(db, fact_id, now if at is None else at, by, now)
    _record(db, by, "ended a fact", fact_id, now)
    return _require_fact(db, scope, fact_id)


def edit_fact(
    db: Database, scope: MemoryScope, fact_id: int, text: str, by: By, now: int
) -> StoredFact:
    """Replace a fact by a person's own words; the other fields stay.

    Raises:
        UnknownNameError: the memory has no such open fact.
        RefusedFactError: the text is empty or contains a secret.
    """
    old = _require_open_fact(db, scope, fact_id, now)
    if old.fact == text:
        return StoredFact(fact_id, new=False)
    statement = Statement(
        fact=text,
        category=old.category,
        source=by,
        origin="operator" if by == "operator" else "user",
        valid_from=old.valid_from,
    )
    stored = replace_fact(db, scope, fact_id, statement, now)
    _record(db, by, "edited a fact", fact_id, now)
    return stored


def forget_fact(
    db: Database,
    scope: MemoryScope,
    fact_id: int,
    by: By,
    now: int,
    *,
    for_good: bool,
    origin: Origin = "user",
) -> Fact:
    """Forget a fact with its earlier versions, so that no conversation brings it back.

    It leaves prompts, lists and what was shown of it at once. The rows are deleted now
    (``for_good``) or by `purge_forgotten`, until when `undo_change` restores the fact.
    ``origin`` is whose words ask for it.

    Raises:
        UnknownNameError: the memory has no such fact.
        RefusedFactError: the words of others do not delete what the user or operator stated.
    """
    fact = _require_fact(db, scope, fact_id)
    _require_right(fact, origin)
    versions = [fact, *_list_earlier(db, scope, fact_id)]
    texts = [version.fact for version in versions]
    since = min(version.created_at for version in versions)  # when the first text was known
    forgotten_facts.mark_forgotten(db, _narrow_scope(db, scope, fact_id), versions, now)
    _close(db, fact_id, now, f"{FORGOTTEN} by {by}", now)
    with get_dialect(db).wipe_deleted_rows(db, "fact" if for_good else "step"):  # has no index
        if for_good:
            db.executemany("DELETE FROM fact WHERE id = ?", [(version.id,) for version in versions])
        shown_texts.blank_shown_texts(db, scope.agent_id, texts, since=since)
    _record(db, by, "forgot a fact", fact_id, now)
    return fact


def purge_forgotten(db: Database, now: int, limit: int = 100) -> int:
    """Delete the facts that were forgotten a day ago, at most ``limit``; return their number."""
    rows = db.execute(
        f"SELECT id, agent_id, scope FROM fact WHERE valid_to <= ? AND {GONE} LIMIT ?",
        (now - DAY, limit),
    ).fetchall()
    if not rows:
        return 0
    with get_dialect(db).wipe_deleted_rows(db, "fact"):
        for number, agent_id, held in rows:
            scope = MemoryScope(str(agent_id), str(held), joined=False, shared=False)
            gone = [int(number), *(fact.id for fact in _list_earlier(db, scope, int(number)))]
            db.executemany("DELETE FROM fact WHERE id = ?", [(one,) for one in gone])
    return len(rows)


def undo_change(db: Database, scope: MemoryScope, fact_id: int, now: int, by: By = "user") -> Fact:
    """Take back the change of a fact that was made within a day; return the fact as it is then.

    A fact that was replaced, edited, ended or forgotten is open again, and its replacement closed.
    The number of a replacement takes back the replacement, that of a new fact the storing of it.

    Raises:
        UnknownNameError: the memory has no such fact.
        RefusedFactError: nothing was changed within a day, or later changes depend on it.
    """
    fact = _require_fact(db, scope, fact_id, forgotten=True)
    if fact.ended_by is None:
        return _undo_storing(db, scope, fact, now, by)
    if fact.updated_at < now - DAY:
        raise RefusedFactError(
            f"fact {fact_id} changed more than a day ago; store what is true as a new fact"
        )
    newer = _find_replacement(db, scope, fact)
    if newer is not None:
        new = newer.created_at == fact.updated_at  # and not known before
        if new and newer.ended_by is not None:
            raise RefusedFactError(
                f"fact {newer.id}, which replaced it, has changed since; undo {newer.id} first"
            )
        if new:
            _close(db, newer.id, now, TAKEN_BACK, now)
    other = _find_open_id(db, scope, fact.fact)
    if other is not None:
        raise RefusedFactError(f"fact {other} says exactly this; it is known already")
    forgotten_facts.unmark_forgotten(db, scope, [fact, *_list_earlier(db, scope, fact_id)])
    db.execute(
        "UPDATE fact SET valid_to = NULL, ended_by = NULL, updated_at = ? WHERE id = ?",
        (now, fact_id),
    )
    _record(db, by, "undid the change of a fact", fact_id, now)
    return _require_fact(db, scope, fact_id)


def list_history(db: Database, scope: MemoryScope, fact_id: int) -> list[Fact]:
    """Return all versions of a fact, newest first.

    Raises:
        UnknownNameError: the memory has no such fact.
    """
    newest = _require_fact(db, scope, fact_id)
    for _ in range(facts.MAX_VERSIONS):
        newest = _find_replacement(db, scope, newest) or newest
    return [newest, *_list_earlier(db, scope, newest.id)]


def _undo_storing(db: Database, scope: MemoryScope, fact: Fact, now: int, by: By) -> Fact:
    if fact.created_at < now - DAY:
        raise RefusedFactError(
            f"fact {fact.id} has not changed within a day; end, edit or forget it"
        )
    where, values = scope.build_fact_condition()
    old = FACTS.find_first(
        db, f"{where} AND ended_by = ? ORDER BY id DESC", *values, f"fact {fact.id}"
    )
    if old is not None:
        return undo_change(db, scope, old.id, now, by)
    forgotten = forget_fact(db, scope, fact.id, by, now, for_good=False)
    _close(db, fact.id, now, WITHDRAWN, now)
    return forgotten


def _insert(db: Database, scope: MemoryScope, statement: Statement, now: int) -> int:
    values = _list_columns(statement) | {
        "id": _take_number(db),
        "agent_id": scope.agent_id,
        "scope": scope.own_scope,
        "created_at": now,
        "updated_at": now,
    }
    names, places = ", ".join(values), ", ".join("?" * len(values))
    sql = f"INSERT INTO fact({names}) VALUES({places}) RETURNING id"
    return int(db.execute(sql, tuple(values.values())).get)


def _take_number(db: Database) -> int:
    """Return a number that no fact has had, so that an old notice never names another fact."""
    last = int(liveness.lock_meta(db, LAST, 0))
    number = max(last, int(db.execute("SELECT max(id) FROM fact").get or 0)) + 1
    liveness.set_meta(db, LAST, number)
    return number


def _revise(db: Database, fact_id: int, statement: Statement, now: int) -> None:
    values = _list_columns(statement) | {"updated_at": now}
    assignments = ", ".join(f"{name} = coalesce(?, {name})" for name in values)
    db.execute(f"UPDATE fact SET {assignments} WHERE id = ?", (*values.values(), fact_id))


def _list_columns(statement: Statement) -> dict[str, object]:
    slot = normalize_name(statement.slot)
    subject = normalize_name(statement.subject) or ("user" if slot else "")
    begins = statement.valid_from
    if begins is not None and not EARLIEST <= begins <= LATEST:
        begins = None
    return {**vars(statement), "subject": subject, "slot": slot, "valid_from": begins}


def normalize_name(name: str) -> str:
    """Return a subject or slot as it is compared: lower case, single spaces, bounded."""
    return clean_sentence(name.lower())[:MAX_NAME].strip()


def _list_similar_facts(
    db: Database, scope: MemoryScope, statement: Statement, now: int
) -> tuple[Fact, ...]:
    """Return open facts that the new one may replace: of its slot, then those of similar words."""
    where, values = scope.build_open_condition(now)
    slot = normalize_name(statement.slot)
    place = (normalize_name(statement.subject) or "user", slot)
    found = []
    if slot:
        alike = f"{where} AND subject = ? AND slot = ? AND slot <> '' ORDER BY id DESC LIMIT ?"
        found = FACTS.select(db, alike, *values, *place, MAX_SIMILAR)
    about = fact_keywords.extract_keywords(statement.fact)
    found += [
        other
        for other in fact_reads.search_facts(db, scope, statement.fact, MAX_SIMILAR, now)
        if other.category != facts.NOTE
        and not (slot and other.slot and place != (other.subject, other.slot))
        and fact_keywords.measure_overlap(about, fact_keywords.extract_keywords(other.fact))
        >= SIMILAR
    ]
    return tuple({fact.id: fact for fact in found}.values())[:MAX_SIMILAR]


def _close(db: Database, fact_id: int, at: int, by: str, now: int) -> None:
    db.execute(
        "UPDATE fact SET valid_to = ?, ended_by = ?, updated_at = ? WHERE id = ?",
        (at, by, now, fact_id),
    )


def _require_fact(
    db: Database, scope: MemoryScope, fact_id: int, *, forgotten: bool = False
) -> Fact:
    found = facts.find_fact(db, scope, fact_id, forgotten=forgotten)
    if found is None:
        raise UnknownNameError(f"there is no fact {fact_id}; take its number from a list of facts")
    return found


def _require_open_fact(db: Database, scope: MemoryScope, fact_id: int, now: int) -> Fact:
    found = _require_fact(db, scope, fact_id)
    if found.valid_to is not None and found.valid_to <= now:
        replaced = (found.ended_by or "").startswith("fact ")
        what = f"was replaced by {found.ended_by}; name that" if replaced else "has ended"
        raise UnknownNameError(f"fact {fact_id} {what}")
    return found


def _require_right(old: Fact, origin: Origin) -> None:
    """Require that what others wrote does not end what the user or operator stated."""
    if origin in UNTRUSTED and old.origin not in UNTRUSTED:
        raise RefusedFactError(
            f"what others wrote cannot change fact {old.id}, which the user stated;"
            " store it as a fact of its own, or let the user change that one"
        )


def _require_storable(statement: Statement) -> None:
    if not statement.fact:
        raise RefusedFactError("the fact is empty; write it as one sentence")
    about = f"{statement.subject} {statement.slot}"
    secret = detect_secret_kind(statement.fact) or detect_secret_kind(about)
    if secret is not None:
        raise RefusedFactError(f"this looks like {secret}; secrets are never remembered")


def _find_open_id(db: Database, scope: MemoryScope, fact: str) -> int | None:
    where, values = scope.build_fact_condition()
    sql = (
        f"SELECT id FROM fact WHERE {where} AND fact = ? AND valid_to IS NULL"
        " ORDER BY scope DESC LIMIT 1"
    )
    found = db.execute(sql, (*values, fact)).get
    return found if isinstance(found, int) else None


def _find_scope(db: Database, fact_id: int) -> str:
    return str(db.execute("SELECT scope FROM fact WHERE id = ?", (fact_id,)).get)


def _narrow_scope(db: Database, scope: MemoryScope, fact_id: int) -> MemoryScope:
    """Return the memory that holds a fact itself."""
    return MemoryScope(scope.agent_id, _find_scope(db, fact_id), joined=False, shared=False)


def _find_replacement(db: Database, scope: MemoryScope, fact: Fact) -> Fact | None:
    kind, _, number = (fact.ended_by or "").partition(" ")
    return facts.find_fact(db, scope, int(number)) if kind == "fact" else None


def _list_earlier(db: Database, scope: MemoryScope, fact_id: int) -> list[Fact]:
    """Return the versions before a fact, newest first."""
    where, values = scope.build_fact_condition()
    found: dict[int, Fact] = {}
    pending = [fact_id]
    while pending:
        sql = f"{where} AND ended_by = ? ORDER BY id DESC"
        older = FACTS.select(db, sql, *values, f"fact {pending.pop()}")
        pending += [fact.id for fact in older if fact.id not in found]
        found |= {fact.id: fact for fact in older}
    return list(found.values())


def _record(db: Database, by: By, act: str, fact_id: int, now: int) -> None:
    if by in PEOPLE:
        audit.record_decision(db, by, act, f"fact {fact_id}", now)
