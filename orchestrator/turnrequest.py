"""What a turn's worker is sent: everything of the journal and the configuration that it needs."""

from collections.abc import Callable
from dataclasses import dataclass

import apsw

from orchestrator.approvals import Desk
from orchestrator.definitions import AgentDefinition, AgentsFile
from orchestrator.delivery import Delivery
from orchestrator.journal import playbooks, turns
from orchestrator.journal.recollection import Recollection, recollect
from orchestrator.journal.store import Store
from orchestrator.journal.turns import Context, Turn
from orchestrator.pauses import Gate
from orchestrator.settings import Settings
from orchestrator.supervisor import Supervisor
from orchestrator.tools import ToolRunner
from thinker.protocol.messages import UserMessage
from thinker.protocol.methods import ChatRef, TurnRun

WINDOW = 50  # messages of history; seed 002


@dataclass(frozen=True)
class Services:
    """The parts of the daemon that turns need. ``clock`` tells milliseconds since the epoch.

    ``tasks_changed`` is called when a scheduled task may have been added or have ended.
    """

    store: Store
    supervisor: Supervisor
    delivery: Delivery
    tools: ToolRunner
    desk: Desk
    gate: Gate
    settings: Settings
    environ: dict[str, str]
    agents: Callable[[], AgentsFile]
    clock: Callable[[], int]
    epoch: int
    tasks_changed: Callable[[], None]


@dataclass(frozen=True)
class Gathered:
    """What the journal holds for a turn."""

    context: Context
    known: Recollection


def gather(
    db: apsw.Connection, services: Services, turn: Turn, definition: AgentDefinition
) -> Gathered:
    """Settle what a dead process left of a turn, and read what its worker needs."""
    running = services.tools.running(turn.id)
    context = turns.context(db, turn.id, running, WINDOW, services.clock())
    said = "\n".join(row.text for row in context.messages)
    playbooks.seed(db, turn.agent_id, turn.started_at)
    known = recollect(db, turn.agent_id, said, definition.skills, turn.started_at)
    return Gathered(context, known)


def turn_run(services: Services, gathered: Gathered, definition: AgentDefinition) -> TurnRun:
    """The request that opens a turn in a worker, or goes on with it."""
    context, known = gathered.context, gathered.known
    first = context.messages[0]
    return TurnRun(
        turn_id=context.turn.id,
        chat=ChatRef(
            channel=first.channel,
            chat_id=first.chat_id,
            thread_id=first.thread_id or None,
            private=first.private,
        ),
        messages=tuple(UserMessage(content=row.text) for row in context.messages),
        history=context.history,
        summary=context.summary,
        profile_prompt=known.profile_prompt,
        memories=known.memories,
        playbooks=known.playbooks,
        skills=known.skills,
        steps=context.steps,
        tools=services.tools.offered(definition),
        recent_tools=context.recent_tools,
        stream=first.private,
        started_at=context.turn.started_at / 1000,
        deadline=context.turn.deadline / 1000,
    )
