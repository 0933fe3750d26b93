"""The memory for a turn's prompt: facts, profile, playbooks and skills."""

from collections.abc import Sequence
from typing import NamedTuple

from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import facts, playbooks, profile
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.memory.memory_scope import EVERY, MemoryScope
from thinker.protocol.messages import JsonObject, Origin
from thinker.protocol.methods import ListedSkill, Memory

MEMORIES = 5  # facts in the prompt
CACHED = 256  # sets of playbooks


class _Offer(NamedTuple):
    """The playbooks and skills for a chat's turns, cached for one state and one set of globs.

    ``since`` is when the newest one was created, in milliseconds.
    """

    states: dict[str, bytes]
    globs: tuple[str, ...]
    since: int
    playbooks: tuple[JsonObject, ...]
    skills: tuple[ListedSkill, ...]


# By agent, chat (if it has playbooks of its own), and whether it sees all that every chat has.
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
    """Return what an agent knew in a chat at a time that is relevant for a text.

    ``globs`` match its skills. ``until`` is the start of the turn (milliseconds): entries that a
    resumed turn itself has stored must not change its prompt. ``meaning`` is the text's embedding.
    """
    offer = _offer(db, memory, tuple(globs), until)
    found = facts.find(db, memory, text, MEMORIES, until, meaning)
    persona = profile.system_prompt(db, memory)
    return PromptMemory(
        memories=tuple(
            Memory(fact=fact.fact, category=fact.category, origin=fact.origin) for fact in found
        ),
        profile_prompt=persona,
        profile_origin="user" if persona is None else profile.origin(db, memory, profile.PROMPT),
        playbooks=offer.playbooks,
        skills=offer.skills,
    )


def _offer(db: Database, memory: MemoryScope, globs: tuple[str, ...], until: int) -> _Offer:
    """Return a chat's playbooks, cached until they change, as reading them takes long.

    The defaults that the agent has never had are stored first.
    """
    states = playbooks.states(db, memory)
    key = memory.agent_id, memory.own if memory.own in states else EVERY, memory.all_chats
    kept = _offers.get(key)
    if kept is not None and (kept.states, kept.globs) == (states, globs) and kept.since <= until:
        return kept
    if playbooks.seed(db, memory.agent_id, until):
        states = playbooks.states(db, memory)
    every = playbooks.every(db, memory, globs)
    known = [item for item in every if item.created_at <= until]
    since = max((item.created_at for item in known), default=0)
    offer = _Offer(states, globs, since, playbooks.records(known), playbooks.listed(known))
    if states and known == every:
        if len(_offers) >= CACHED:
            _offers.clear()
        _offers[key] = offer
    return offer
