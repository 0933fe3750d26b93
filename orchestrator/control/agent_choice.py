"""Choose the agents of a report, those that need attention first, and tell of each."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType

from anyio.lowlevel import checkpoint

from orchestrator.agentsfile import Problem
from orchestrator.agentsfile.model_costs import find_window
from orchestrator.configuration import Configuration
from orchestrator.control.agent_report import AgentReport, BudgetUse
from orchestrator.journal.turns.degradations import DegradedTurns
from orchestrator.processes.restarts import WorkerState
from orchestrator.processes.supervisor import Slot
from orchestrator.spending.budgets import WindowSpending

AT_ONCE = 50  # reports made before other work has its turn; each takes 0.05 ms
RANKS = {WorkerState.FATAL: 0, WorkerState.QUARANTINED: 0, WorkerState.BACKOFF: 0}
RANKS |= {WorkerState.STOPPED: 3}  # of agents without trouble; those at work are in between


def choose_slots(
    slots: Collection[Slot], most: int, troubled: Collection[str], *, only_troubled: bool = False
) -> list[Slot]:
    """Return at most so many slots; if some are left out, those that need attention come first.

    ``troubled`` are the ids of agents that need it whatever their state is.
    """

    def rank(slot: Slot) -> int:
        return 0 if slot.spec.agent_id in troubled else RANKS.get(slot.history.state, 2)

    if only_troubled:
        slots = [slot for slot in slots if not rank(slot)]
    return [*slots] if len(slots) <= most else sorted(slots, key=rank)[:most]


async def report_agents(
    configuration: Configuration,
    slots: Iterable[Slot],
    paused: Mapping[str, str],
    spent: Mapping[str, Iterable[WindowSpending]] = MappingProxyType({}),
    lacking: Iterable[DegradedTurns] = (),
) -> tuple[AgentReport, ...]:
    """Return a report of each slot's agent; other work has its turn in between."""
    lacks = defaultdict[str, list[str]](list)
    for one in lacking:
        lacks[one.agent_id].append(str(one))
    found = []
    for number, slot in enumerate(slots, 1):
        name = slot.spec.agent_id
        pause, uses = paused.get(name, ""), spent.get(name, ())
        found.append(_report_agent(slot, configuration, pause, uses, lacks[name]))
        if number % AT_ONCE == 0:
            await checkpoint()
    return tuple(found)


def list_uses(spent: Iterable[WindowSpending]) -> Iterator[BudgetUse]:
    for limits, used in spent:
        yield BudgetUse(
            window=limits.name,
            tokens=used.tokens,
            usd=used.usd,
            token_limit=limits.tokens,
            usd_limit=limits.usd,
        )


def _report_agent(
    slot: Slot,
    configuration: Configuration,
    paused: str,
    spent: Iterable[WindowSpending],
    lacking: Iterable[str],
) -> AgentReport:
    owner = slot.spec.parent or slot.spec.agent_id
    return AgentReport(
        agent_id=slot.spec.agent_id,
        state=slot.history.state,
        pid=slot.worker.pid if slot.worker is not None else None,
        restarts=slot.history.restarts,
        provider=slot.spec.endpoint.provider,
        model=slot.spec.endpoint.model,
        parent=slot.spec.parent or "",
        memory="agent" if configuration.file.joins_chats(owner) else "person",
        reason=_describe_reason(slot, owner, configuration.problems),
        paused=paused,
        window=_describe_window(slot, configuration),
        budgets=tuple(list_uses(spent)),
        lacking=tuple(lacking),
    )


def _describe_reason(slot: Slot, owner: str, problems: Iterable[Problem]) -> str:
    """Return the reason why an agent does not run, with what its definition lacks."""
    if slot.history.state is WorkerState.RUNNING:
        return ""
    if slot.history.state is WorkerState.FATAL:
        for problem in problems:
            if problem.agent_id == owner and problem.path.endswith(".llmProvider"):
                return problem.message
    return slot.history.reason


def _describe_window(slot: Slot, configuration: Configuration) -> str:
    """Return what an agent's model reads at once, for people; empty for the demo model."""
    agent = configuration.file.find_agent(slot.spec.parent or slot.spec.agent_id)
    endpoint = slot.spec.endpoint
    if agent is None or endpoint.provider == "demo":
        return ""
    return find_window(agent, slot.window, f"{endpoint.provider}/{endpoint.model}").text
