"""What `orchestrator status` shows, put together from every part of the daemon."""

from collections.abc import Iterable

import apsw

from orchestrator import __version__
from orchestrator.adapter import Adapter
from orchestrator.control import (
    AgentReport,
    ChannelReport,
    ConfigProblem,
    RecentTurn,
    StatusReport,
)
from orchestrator.definitions import Problem
from orchestrator.journal import inbox, turns
from orchestrator.journal.store import Store
from orchestrator.reload import Configuration
from orchestrator.restarts import WorkerState
from orchestrator.settings import Settings
from orchestrator.supervisor import Slot, Supervisor

RECENT = 5  # turns shown
DEMO_HINT = (
    "agent {agent!r} uses the built-in demo model (rules, no language model); set"
    " ANTHROPIC_API_KEY, OPENAI_API_KEY or GROQ_API_KEY and restart, start Ollama, or set"
    " llmProvider and model in agents.json"
)


async def report(
    store: Store,
    settings: Settings,
    configuration: Configuration,
    supervisor: Supervisor,
    adapters: Iterable[Adapter],
) -> StatusReport:
    """The state of everything, at this moment."""
    counts, open_turns, recent = await store.transact(_journal)
    channels = tuple(
        ChannelReport(
            name=adapter.status.name,
            state=adapter.status.state,
            detail=adapter.status.detail,
            last_ok=adapter.status.last_ok,
        )
        for adapter in adapters
    )
    return StatusReport(
        ready=not supervisor.stopping and all(item.state == "ok" for item in channels),
        version=__version__,
        home=str(settings.home),
        config_file=str(configuration.path),
        agents=tuple(_agent(slot) for slot in supervisor.slots().values()),
        channels=channels,
        config_errors=problems(configuration.problems),
        open_turns=open_turns,
        inbox=counts,
        recent_turns=recent,
        hints=tuple(hints(configuration, supervisor)),
    )


def problems(found: Iterable[Problem]) -> tuple[ConfigProblem, ...]:
    """Problems of agents.json in the words of the control socket."""
    return tuple(
        ConfigProblem(
            file=problem.file,
            line=problem.line,
            agent_id=problem.agent_id,
            message=problem.message,
            severity=problem.severity,
        )
        for problem in found
    )


def _journal(db: apsw.Connection) -> tuple[dict[str, int], int, tuple[RecentTurn, ...]]:
    recent = tuple(
        RecentTurn(
            turn_id=turn.id,
            agent_id=turn.agent_id,
            chat=turn.chat_key,
            state=turn.state,
            stop_reason=turn.stop_reason,
            tools=turn.tools,
            ms=turn.ms,
        )
        for turn in turns.recent(db, RECENT)
    )
    return inbox.counts(db), turns.open_count(db), recent


def _agent(slot: Slot) -> AgentReport:
    return AgentReport(
        agent_id=slot.spec.agent_id,
        state=slot.history.state,
        pid=slot.worker.pid if slot.worker is not None else None,
        restarts=slot.history.restarts,
        provider=slot.spec.endpoint.provider,
        model=slot.spec.endpoint.model,
        reason=slot.history.reason if slot.history.state is not WorkerState.RUNNING else "",
    )


def hints(configuration: Configuration, supervisor: Supervisor) -> Iterable[str]:
    """What an operator should know: demo models, a broken file, broken skills."""
    if configuration.fallen_back:
        yield f"{configuration.path} is broken; the last good copy of it is in force"
    for slot in supervisor.slots().values():
        if slot.spec.endpoint.provider == "demo":
            yield DEMO_HINT.format(agent=slot.spec.agent_id)
    yield from configuration.skill_problems
