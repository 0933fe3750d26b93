"""The memory of all agents and its sources, as people look at it and change it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields

import orjson
from pydantic import Field, JsonValue

from orchestrator.control.camel_model import CamelModel
from orchestrator.errors import UnknownNameError
from orchestrator.extensions.memory import (
    fact_changes,
    fact_reads,
    learned_changes,
    profile_changes,
)
from orchestrator.extensions.memory.fact_dates import TAKEN_BACK
from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.inspect.message_hits import HITS, MessageHit
from orchestrator.journal.memory import facts
from orchestrator.journal.memory.facts import Fact
from orchestrator.journal.memory.memory_scope import FORGOTTEN, MemoryScope

MAX_FACT = 2000  # characters
MAX_PAGE = 500  # facts of one answer to a program
NOT_FORGOTTEN = f"coalesce(ended_by, '') NOT LIKE '{FORGOTTEN}%'"
HOUR = 60 * 60 * 1000  # milliseconds in which the storing of a fact counts as the last change
CHANGED = (  # what is no undo: an end, or the storing of what has not changed since
    f"(ended_by NOT IN('{TAKEN_BACK}', '{fact_changes.WITHDRAWN}') OR ended_by IS NULL"
    f" AND created_at = updated_at AND created_at > ? AND category <> '{facts.NOTE}')"
)


@dataclass(frozen=True)
class KnownFact(Fact):
    """A fact of an agent; ``scope`` is the chat it belongs to, empty for all chats."""

    agent_id: str = ""
    scope: str = ""


@dataclass(frozen=True)
class ProfileField:
    """A field of a profile, with the ``source`` and time of its last change, if known."""

    agent_id: str
    scope: str
    path: str
    value: JsonValue
    source: str | None
    at: int | None


class FactEdit(CamelModel):
    """A fact's new sentence."""

    id: int = Field(ge=1, lt=2**63)
    text: str = Field(min_length=1, max_length=MAX_FACT)


class FactQuery(CamelModel):
    """The facts to list: of an agent and a chat (``telegram:123``), below an id, newest first.

    With ``text``, those that match it best, best first.
    """

    agent: str | None = None
    chat: str | None = None
    text: str = Field("", max_length=MAX_FACT)
    ended: bool = False
    before: int = Field(facts.FOREVER, ge=1, lt=2**63)
    limit: int = Field(100, ge=1, le=MAX_PAGE)


class ProfilePage(CamelModel):
    """Fields of profiles."""

    fields: tuple[ProfileField, ...]


class ProfileEdit(CamelModel):
    """A field of a profile, and its new value as a text; an empty one removes it.

    ``chat`` is the chat that the profile belongs to; empty for all chats.
    """

    agent: str
    chat: str = ""
    path: str = Field(min_length=1, max_length=500)
    text: str = Field("", max_length=MAX_FACT)


class FactPage(CamelModel):
    """Some of the facts, newest first; ``more``: there are older ones."""

    facts: tuple[KnownFact, ...]
    more: bool


FACTS = Rows(KnownFact, "fact", ", ".join(one.name for one in fields(KnownFact)))


def list_stored_facts(
    db: Database, agent_id: str | None, scope: str | None, now: int, *, ended: bool = False
) -> list[KnownFact]:
    """Return the facts of an agent and a chat, or of all, newest first.

    Those that have ended by ``now`` (milliseconds) are left out unless ``ended``; those that were
    forgotten always are.
    """
    where = f"agent_id = ifnull(?, agent_id) AND scope = ifnull(?, scope) AND {NOT_FORGOTTEN}"
    if ended:
        return FACTS.select(db, f"{where} ORDER BY id DESC", agent_id, scope)
    where += " AND (valid_to IS NULL OR valid_to > ?) ORDER BY id DESC"
    return FACTS.select(db, where, agent_id, scope, now)


def require_fact(db: Database, number: int) -> KnownFact:
    """Return a fact, ended or not, but not forgotten.

    Raises:
        UnknownNameError: no fact has this number.
    """
    found = FACTS.find_first(db, f"id = ? AND {NOT_FORGOTTEN}", number)
    if found is None:
        raise UnknownNameError(f"unknown fact {number}; see: orchestrator memory list --all")
    return found


def load_fact_page(db: Database, query: FactQuery, now: int) -> FactPage:
    """Return the facts that a query asks for, as of ``now`` (milliseconds)."""
    if query.text:
        best = search_stored_facts(db, query.text, query.agent, query.chat, query.limit, now)
        return FactPage(facts=tuple(best), more=False)
    found = list_stored_facts(db, query.agent, query.chat, now, ended=query.ended)
    below = [fact for fact in found if fact.id < query.before]
    return FactPage(facts=tuple(below[: query.limit]), more=len(below) > query.limit)


def list_versions(db: Database, fact: KnownFact) -> list[Fact]:
    """Return the versions of a fact, newest first; a fact that never changed has one."""
    return fact_changes.list_history(db, _own_scope(fact), fact.id)


def find_evidence(db: Database, fact: Fact) -> MessageHit | None:
    """Return the message that says a fact, or that opened the turn which stored it, if kept."""
    if fact.said_in is not None:
        return HITS.find_first(db, "said.id = ?", fact.said_in)
    kind, _, turn_id = fact.source.partition(" ")
    if kind != "turn":
        return None
    where = "role = 'user' AND said.id IN(SELECT id FROM message WHERE turn_id = ?) ORDER BY 1"
    return HITS.find_first(db, where, turn_id)


def list_undo_candidates(db: Database, number: int) -> list[int]:
    """Return the facts that `undo_change` may open or forget: of a number, and what it replaced."""
    sql = "SELECT id FROM fact WHERE id = ? OR ended_by = ?"
    return [int(found) for (found,) in db.execute(sql, (number, f"fact {number}"))]


def find_undone_fact(db: Database, candidates: Sequence[int]) -> KnownFact | None:
    """Return the one that an undo has just changed; None if it was deleted meanwhile."""
    places = ", ".join("?" * len(candidates))
    newest = f"id IN({places}) ORDER BY updated_at DESC, ended_by IS NULL DESC LIMIT 1"
    return FACTS.find_first(db, newest, *candidates)


def find_older_facts(db: Database, shown: Iterable[KnownFact]) -> dict[int, int]:
    """Return the older facts that facts of any memory may replace, by the numbers of these."""
    by_scope: dict[MemoryScope, list[KnownFact]] = {}
    for fact in shown:
        by_scope.setdefault(_own_scope(fact), []).append(fact)
    return {
        number: older
        for scope, found in by_scope.items()
        for number, older in learned_changes.find_older_facts(db, scope, found).items()
    }


def search_stored_facts(
    db: Database, text: str, agent_id: str | None, scope: str | None, limit: int, now: int
) -> list[KnownFact]:
    """Return the facts that match ``text`` best at a time (ms), best first in each memory."""
    memories = db.execute(
        "SELECT DISTINCT agent_id, scope FROM fact WHERE agent_id = ifnull(?, agent_id)"
        " AND scope = ifnull(?, scope) ORDER BY agent_id, scope",
        (agent_id, scope),
    ).fetchall()
    found = [
        fact.id
        for agent, chat in memories
        for fact in fact_reads.find_facts(
            db, MemoryScope(str(agent), str(chat), joined=False, shared=False), text, limit, now
        )
    ]
    if not found:
        return []
    by_id = {
        row.id: row for row in FACTS.select(db, f"id IN({', '.join('?' * len(found))})", *found)
    }
    return [by_id[number] for number in found]


def list_profile_fields(
    db: Database, agent_id: str | None, scope: str | None
) -> list[ProfileField]:
    """Return the fields of the profiles of an agent and a chat, or of all."""
    rows = db.execute(
        "SELECT agent_id, scope, body FROM profile WHERE agent_id = ifnull(?, agent_id)"
        " AND scope = ifnull(?, scope) ORDER BY agent_id, scope",
        (agent_id, scope),
    ).fetchall()
    return [
        ProfileField(
            str(agent), str(chat), path, value, *_find_last_change(db, str(agent), str(chat), path)
        )
        for agent, chat, body in rows
        for path, value in _walk_profile_fields(orjson.loads(str(body)))
    ]


def load_profile_page(db: Database, query: FactQuery) -> ProfilePage:
    """Return the fields of the profiles of an agent and a chat, or of all."""
    return ProfilePage(fields=tuple(list_profile_fields(db, query.agent, query.chat)))


def edit_profile(db: Database, edit: ProfileEdit, now: int) -> None:
    """Write a field of a profile for the operator, or remove it.

    Raises:
        UnknownNameError: the agent has no such profile.
        ProfileError: the path or the value does not fit, or the value is a secret.
    """
    known = list_profile_fields(db, edit.agent, edit.chat)
    if not known:
        raise UnknownNameError(f"agent {edit.agent!r} has no such profile")
    scope = MemoryScope(edit.agent, edit.chat, joined=False, shared=False)
    profile_changes.update_profile(
        db, scope, edit.path, edit.text or None, "operator", now, "operator"
    )


def forget_fact(db: Database, number: int, now: int) -> None:
    """Delete one fact for good, for the operator; a hash stays, so that it is not learned again.

    Raises:
        UnknownNameError: the number is unknown.
    """
    scope = _own_scope(require_fact(db, number))
    fact_changes.forget_fact(db, scope, number, "operator", now, for_good=True)


def edit_fact(db: Database, edit: FactEdit, now: int) -> None:
    """Replace a fact by the operator's words; the old one becomes an earlier version.

    Raises:
        UnknownNameError: the number is unknown.
        RefusedFactError: the text has a secret, or says what another fact says.
    """
    scope = _own_scope(require_fact(db, edit.id))
    fact_changes.edit_fact(db, scope, edit.id, edit.text, "operator", now)


def undo_change(db: Database, number: int, now: int) -> None:
    """Take back the last change of a fact, for the operator.

    Raises:
        UnknownNameError: the number is unknown.
        RefusedFactError: nothing was changed within a day.
    """
    found = FACTS.find_first(db, "id = ?", number)
    scope = _own_scope(found or require_fact(db, number))
    fact_changes.undo_change(db, scope, number, now, "operator")


def find_last_change(db: Database, scope: MemoryScope, now: int) -> int | None:
    """Return the number of the fact of a memory whose last change is to be taken back.

    That is the last end, edit, replacement or forgetting within a day, or the storing of a fact
    within an hour; what an undo did does not count.
    """
    where, values = scope.build_fact_condition()
    sql = (
        f"SELECT id FROM fact WHERE {where} AND updated_at > ? AND {CHANGED}"
        " ORDER BY updated_at DESC, id DESC LIMIT 1"
    )
    found = db.execute(sql, (*values, now - fact_changes.DAY, now - HOUR)).get
    return None if found is None else int(found)


def _own_scope(fact: KnownFact) -> MemoryScope:
    return MemoryScope(fact.agent_id, fact.scope, joined=False, shared=False)


def _walk_profile_fields(value: JsonValue, path: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Yield the fields of a profile with their paths, as tools write them."""
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from _walk_profile_fields(below, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for number, below in enumerate(value):
            yield from _walk_profile_fields(below, f"{path}[{number}]")
    elif path:
        yield path, value


def _find_last_change(
    db: Database, agent_id: str, scope: str, path: str
) -> tuple[str | None, int | None]:
    """Return the source and time of the last change of a field or of its parent."""
    found = db.execute(
        "SELECT source, at FROM profile_change WHERE agent_id = ?1 AND scope = ?2"
        " AND (path = ?3 OR substr(?3, 1, length(path) + 1) IN(path || '.', path || '['))"
        " ORDER BY id DESC LIMIT 1",
        (agent_id, scope, path),
    ).fetchone()
    return (None, None) if found is None else (str(found[0]), int(found[1]))
