"""Load the memory for a turn's prompt: facts, profile, playbooks and skills."""

from collections.abc import Sequence
from typing import NamedTuple

from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import facts, playbooks, profile
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.memory.memory_scope import EVERY, MemoryScope
from thinker.protocol.messages import JsonObject, Origin
from thinker.protocol.methods import ListedSkill, Memory

MAX_FACTS = 5  # facts in the prompt
MAX_CACHED = 256  # sets of playbooks
OVERVIEW = (  # whether an agent has facts and a profile, and the states of a scope's playbooks
    "SELECT EXISTS(SELECT 1 FROM fact WHERE agent_id = ?1),"
    " EXISTS(SELECT 1 FROM profile WHERE agent_id = ?1),"
    f" (SELECT state FROM playbook_state WHERE agent_id = ?1 AND scope = '{EVERY}'),"
    " (SELECT state FROM playbook_state WHERE agent_id = ?1 AND scope = ?2)"
)


class _Offer(NamedTuple):
    """The playbooks and skills for a chat's turns, cached for one state and one set of globs.

    ``since`` is when the newest one was created, in milliseconds.
    """

    states: dict[str, bytes]
    globs: tuple[str, ...]
    since: int
    playbooks: tuple[JsonObject, ...]
    skills: tuple[ListedSkill, ...]


# Keyed by agent, chat (if it has playbooks of its own), and whether it sees those of every chat.
_offers: dict[tuple[str, str, bool], _Offer] = {}


class PromptMemory(NamedTuple):
    """Fields of `TurnRun` of the same names."""

    memories: tuple[Memory, ...] = ()
    profile_prompt: str | None = None
    profile_origin: Origin = "user"
    playbooks: tuple[JsonObject, ...] = ()
    skills: tuple[ListedSkill, ...] = ()


def load_prompt_memory(
    db: Database,
    memory: MemoryScope,
    text: str,
    globs: Sequence[str],
    until: int = facts.FOREVER,
    meaning: Embedding | None = None,
) -> PromptMemory:
    """Return the memory of an agent in a chat at a time, as far as it is relevant to ``text``.

    ``globs`` match its skills. ``until`` is the start of the turn (milliseconds): entries that a
    resumed turn itself has stored must not change its prompt. ``meaning`` is the text's embedding.
    """
    own = EVERY if memory.joined else memory.chat
    has_facts, has_profile, shared, owned = db.execute(OVERVIEW, (memory.agent_id, own)).get
    states = {scope: bytes(state) for scope, state in ((EVERY, shared), (own, owned)) if state}
    offer = _load_offer(db, memory, tuple(globs), until, states)
    found = facts.search_facts(db, memory, text, MAX_FACTS, until, meaning) if has_facts else []
    persona = profile.find_system_prompt(db, memory) if has_profile else None
    wrote: Origin = "user"
    if persona is not None:
        wrote = profile.load_value_origin(db, memory, profile.PROMPT)
    return PromptMemory(
        memories=tuple(
            [Memory(fact=fact.fact, category=fact.category, origin=fact.origin) for fact in found]
        ),
        profile_prompt=persona,
        profile_origin=wrote,
        playbooks=offer.playbooks,
        skills=offer.skills,
    )


def _load_offer(
    db: Database, memory: MemoryScope, globs: tuple[str, ...], until: int, states: dict[str, bytes]
) -> _Offer:
    """Return a chat's playbooks, cached until they change, since reading them is slow.

    ``states`` are as `playbooks.load_states` returns them. Defaults that the agent never had are
    stored first.
    """
    own = EVERY if memory.joined else memory.chat
    key = memory.agent_id, own if own in states else EVERY, memory.joined or memory.shared
    kept = _offers.get(key)
    if kept is not None and (kept.states, kept.globs) == (states, globs) and kept.since <= until:
        return kept
    if playbooks.seed_playbooks(db, memory.agent_id, until):
        states = playbooks.load_states(db, memory)
    every = playbooks.list_playbooks(db, memory, globs)
    known = [item for item in every if item.created_at <= until]
    since = max((item.created_at for item in known), default=0)
    offer = _Offer(
        states, globs, since, playbooks.build_worker_records(known), playbooks.list_skills(known)
    )
    if states and known == every:
        if len(_offers) >= MAX_CACHED:
            _offers.clear()
        _offers[key] = offer
    return offer
