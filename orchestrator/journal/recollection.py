"""What the journal has for a turn's prompt, besides the conversation itself."""

from collections.abc import Sequence
from dataclasses import dataclass

import apsw

from orchestrator.journal import memory, playbooks, profile
from orchestrator.journal.factvectors import Meaning
from thinker.protocol.messages import JsonObject
from thinker.protocol.methods import ListedSkill, Memory

MEMORIES = 5  # facts in the prompt; seed 002


@dataclass(frozen=True)
class Recollection:
    """Fields of `TurnRun` of the same names."""

    memories: tuple[Memory, ...] = ()
    profile_prompt: str | None = None
    playbooks: tuple[JsonObject, ...] = ()
    skills: tuple[ListedSkill, ...] = ()


def recollect(
    db: apsw.Connection,
    agent_id: str,
    text: str,
    globs: Sequence[str],
    until: int = memory.FOREVER,
    meaning: Meaning | None = None,
) -> Recollection:
    """What an agent knew at a time (milliseconds) that bears on a text.

    ``globs`` are the agent's skills. The time is the turn's start: when a turn is resumed, what it
    has stored itself must not change the prompt that it began with. ``meaning`` is what the text
    means, if that is known.
    """
    known = [item for item in playbooks.every(db, agent_id, globs) if item.created_at <= until]
    facts = memory.find(db, agent_id, text, MEMORIES, until, meaning)
    return Recollection(
        memories=tuple(Memory(fact=fact.fact, category=fact.category) for fact in facts),
        profile_prompt=profile.system_prompt(db, agent_id),
        playbooks=playbooks.records(known),
        skills=playbooks.listed(known),
    )
