"""What the journal has for a turn's prompt, besides the conversation itself."""

from collections.abc import Sequence
from dataclasses import dataclass

import apsw

from orchestrator.journal.memory import facts, playbooks, profile
from orchestrator.journal.memory.fact_vectors import Embedding
from thinker.protocol.messages import JsonObject
from thinker.protocol.methods import ListedSkill, Memory

MEMORIES = 5  # facts in the prompt; seed 002
AGENTS = 256  # whose playbooks are kept as their turns are given them


@dataclass(frozen=True)
class _Offer:
    """What an agent's turns are given of playbooks in one state of them, if these globs name them.

    ``since`` is when the newest was made, in milliseconds.
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
    """What an agent knew at a time (milliseconds) that bears on a text.

    ``globs`` are the agent's skills. The time is the turn's start: when a turn is resumed, what it
    has stored itself must not change the prompt that it began with. ``meaning`` is what the text
    means, if that is known.
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
    """The same for every turn until playbooks change: to read them costs more than all the rest."""
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
