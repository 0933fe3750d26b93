"""The memory for a turn's prompt: facts, profile, playbooks and skills."""

from collections.abc import Sequence
from dataclasses import dataclass

import apsw

from orchestrator.journal.memory import facts, playbooks, profile
from orchestrator.journal.memory.fact_vectors import Embedding
from thinker.protocol.messages import JsonObject
from thinker.protocol.methods import ListedSkill, Memory

MEMORIES = 5  # facts in the prompt
AGENTS = 256  # whose playbooks are cached


@dataclass(frozen=True)
class _Offer:
    """The playbooks and skills for an agent's turns, cached for one state and one set of globs.

    ``since`` is when the newest one was created, in milliseconds.
    """

    state: bytes | None
    globs: tuple[str, ...]
    since: int
    playbooks: tuple[JsonObject, ...]
    skills: tuple[ListedSkill, ...]


_offers: dict[str, _Offer] = {}  # by agent


@dataclass(frozen=True)
class PromptMemory:
    """Fields of `TurnRun` of the same names."""

    memories: tuple[Memory, ...] = ()
    profile_prompt: str | None = None
    playbooks: tuple[JsonObject, ...] = ()
    skills: tuple[ListedSkill, ...] = ()


def load_prompt_memory(
    db: apsw.Connection,
    agent_id: str,
    text: str,
    globs: Sequence[str],
    until: int = facts.FOREVER,
    meaning: Embedding | None = None,
) -> PromptMemory:
    """Return what an agent knew at a time that is relevant for a text.

    ``globs`` match its skills. ``until`` is the start of the turn (milliseconds): entries that a
    resumed turn itself has stored must not change its prompt. ``meaning`` is the text's embedding.
    """
    offer = _offer(db, agent_id, tuple(globs), until)
    found = facts.find(db, agent_id, text, MEMORIES, until, meaning)
    return PromptMemory(
        memories=tuple(Memory(fact=fact.fact, category=fact.category) for fact in found),
        profile_prompt=profile.system_prompt(db, agent_id),
        playbooks=offer.playbooks,
        skills=offer.skills,
    )


def _offer(db: apsw.Connection, agent_id: str, globs: tuple[str, ...], until: int) -> _Offer:
    """Return an agent's playbooks, cached until they change, as reading them takes long."""
    state, kept = playbooks.state(db, agent_id), _offers.get(agent_id)
    if kept is not None and (kept.state, kept.globs) == (state, globs) and kept.since <= until:
        return kept
    every = playbooks.every(db, agent_id, globs)
    known = [item for item in every if item.created_at <= until]
    since = max((item.created_at for item in known), default=0)
    offer = _Offer(state, globs, since, playbooks.records(known), playbooks.listed(known))
    if state is not None and known == every:
        if len(_offers) >= AGENTS:
            _offers.clear()
        _offers[agent_id] = offer
    return offer
