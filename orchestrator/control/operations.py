"""What the daemon does for its operator: show its state, and apply a changed configuration."""

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType

import anyio
import structlog

from orchestrator import __version__
from orchestrator.agentsfile import Problem
from orchestrator.channel_api import Adapter
from orchestrator.configuration import Configuration
from orchestrator.control import protocol, status
from orchestrator.control.protocol import HealthReport, ReloadReport, StatusReport
from orchestrator.errors import JournalError
from orchestrator.inbound.scheduler import Scheduler
from orchestrator.journal.db import liveness
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.inspect import recent
from orchestrator.journal.memory import playbooks
from orchestrator.journal.turns import handoffs, pauses, turns
from orchestrator.journal.turns.usage import Amount
from orchestrator.outbound.flood_control import FloodControl
from orchestrator.processes.child_process import ChildProcess
from orchestrator.processes.restarts import WorkerState
from orchestrator.processes.supervisor import Slot, Supervisor
from orchestrator.settings import Settings
from orchestrator.spending.budgets import Window
from orchestrator.spending.spending_guard import SpendingGuard
from orchestrator.system.sdnotify import Notifier
from orchestrator.tools.mcp.servers import McpServers
from orchestrator.turns.dispatcher import Dispatcher
from thinker.protocol.names import chat_name

RECENT = 5  # turns shown
LOOK_TIMEOUT = 15.0  # seconds for what is read of the journal; a database may be away
LOOKED_AT = 50  # newest turns whose missing tools are reported
MISSING = (
    "agent {agent!r}: {playbook!r} needs the tool {tool!r}, which is not offered; add its MCP"
    " server, allow the tool, or change the playbook"
)
CHANGED = (
    "the MCP server of {tool} changed its description, so it is not offered; check it, then run:"
    " orchestrator tools approve {name}"
)
HANDED_OVER = "chat {chat} is handed over: agent '{new}' answers it instead of '{old}'"
log = structlog.get_logger()


@dataclass(frozen=True, kw_only=True)
class DaemonOperations:
    """What the operator asks of the daemon as a whole.

    ``session_grew`` wakes the maintenance, whose settings may have changed. ``clock`` returns
    milliseconds since the epoch, ``others`` the process that forks workers, and the page. ``notes``
    returns what other parts want to be known.
    """

    store: Store
    settings: Settings
    configuration: Configuration
    supervisor: Supervisor
    servers: McpServers
    adapters: Mapping[str, Adapter]
    dispatcher: Dispatcher
    scheduler: Scheduler
    guard: SpendingGuard
    flood: FloodControl
    notifier: Notifier
    others: Callable[[], Mapping[str, ChildProcess | None]]
    notes: Callable[[], Iterable[str]]
    session_grew: Callable[[], None]
    clock: Callable[[], int]
    _reloading: anyio.Lock = field(default_factory=anyio.Lock, init=False)

    async def status(self, proof_age: float = 0.0) -> StatusReport:
        """Return what runs; the journal was written at most ``proof_age`` seconds ago."""
        health = await self._health(proof_age)
        try:
            with anyio.fail_after(LOOK_TIMEOUT):
                counts, open_turns, newest, paused, starts = await self.store.read(_journal)
                sharing = await self.store.sharing()
                handed = await self.store.transact(handoffs.every)
                spent = await self.store.transact(self.guard.rules().budgets)
                missing = await self.store.transact(playbooks.missing_tools, LOOKED_AT)
        except TimeoutError as error:
            reasons = "; ".join(health.reasons) or "the journal does not answer"
            raise JournalError(f"not ready: {reasons}") from error
        return StatusReport(
            ready=health.ready,
            version=__version__,
            home=str(self.settings.home),
            config_file=str(self.configuration.path),
            journal=str(self.store.address),
            journal_bytes=self.store.size(),
            nodes=tuple(map(protocol.NodeReport.from_object, sharing)),
            starts=starts,
            agents=self._agents(paused, spent),
            channels=tuple(
                protocol.ChannelReport.from_object(adapter.status)
                for adapter in status.in_use(self.adapters.values())
            ),
            tool_servers=tuple(
                protocol.ToolServerReport.from_object(
                    server,
                    tools=len(server.tools),
                    sandbox=server.sandbox.level if server.sandbox else "",
                    sandbox_reason=server.sandbox.reason if server.sandbox else "",
                )
                for server in self.servers.states()
            ),
            config_errors=status.problems(self.configuration.problems),
            processes=tuple(status.processes(self.supervisor, self.servers, self.others())),
            broker=_broker(self.supervisor),
            open_turns=open_turns,
            inbox=counts,
            recent_turns=newest,
            notes=health.notes,
            hints=(
                *(f"not ready: {reason}" for reason in health.reasons),
                *health.notes,
                *status.hints(self.configuration, self.supervisor),
                *status.unheard(
                    self.configuration.file, (item.status for item in self.adapters.values())
                ),
                *(
                    CHANGED.format(tool=tool, name=name)
                    for tool, name in self.servers.pins.withheld().items()
                ),
                *(
                    HANDED_OVER.format(chat=chat_name(h.chat_key), new=h.agent_id, old=h.routed_id)
                    for h in handed
                ),
                *(MISSING.format(agent=a, playbook=p, tool=t) for a, p, t in missing),
            ),
        )

    async def health(self, proof_age: float = 0.0) -> HealthReport:
        """Return whether the daemon is ready; its notes name all else that is wrong."""
        found = await self._health(proof_age)
        paused: dict[str, str] = {}
        with suppress(JournalError), anyio.move_on_after(LOOK_TIMEOUT):
            paused = await self.store.read(pauses.shown)
        agents = self._agents(paused)
        troubles = status.troubles(agents, self.servers.states())
        problems = map(str, self.configuration.problems)
        return found.model_copy(update={"notes": (*found.notes, *troubles, *problems)})

    def _agents(
        self,
        paused: Mapping[str, str],
        spent: Mapping[str, Iterable[tuple[Window, Amount]]] = MappingProxyType({}),
    ) -> tuple[protocol.AgentReport, ...]:
        return tuple(
            _agent(slot, self.configuration, paused.get(name, ""), spent.get(name, ()))
            for name, slot in self.supervisor.slots.items()
        )

    async def _health(self, proof_age: float) -> HealthReport:
        found = await status.health(
            self.store,
            self.adapters.values(),
            self.clock() / 1000,
            admitting=self.dispatcher.opener.admitting,
            scheduler=self.scheduler.problem(),
            holds=self.flood.holds(anyio.current_time()),
            proof_age=proof_age,
        )
        return found.model_copy(update={"notes": (*found.notes, *self.notes())})

    async def reload(self) -> ReloadReport:
        """Read agents.json again and apply it; a file with errors changes nothing."""
        async with self._reloading:
            self.notifier.tell("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
            applied = await self.configuration.read()
            if applied:
                await self.configuration.apply(self.supervisor, self.servers)
                log.info("config_applied", agents=sorted(self.supervisor.slots))
                self.dispatcher.wake()
                self.scheduler.skills_changed()
                self.guard.configured()
                self.session_grew()
            self.notifier.tell("READY=1")
            problems = status.problems(self.configuration.problems)
            return ReloadReport(applied=applied, problems=problems)


def _journal(
    db: Database,
) -> tuple[dict[str, int], int, tuple[protocol.RecentTurn, ...], dict[str, str], int]:
    newest = tuple(
        protocol.RecentTurn.from_object(turn, turn_id=turn.id, chat=chat_name(turn.chat_key))
        for turn in recent.turns(db, RECENT)
    )
    return recent.counts(db), turns.open_count(db), newest, pauses.shown(db), liveness.starts(db)


def _broker(supervisor: Supervisor) -> protocol.BrokerReport | None:
    if supervisor.broker is None:
        return None
    history, child = supervisor.broker.history, supervisor.broker.child
    return protocol.BrokerReport(
        state=history.state,
        pid=None if child is None else child.pid,
        restarts=history.restarts,
        reason="" if child is not None else history.reason,
    )


def _agent(
    slot: Slot,
    configuration: Configuration,
    paused: str,
    spent: Iterable[tuple[Window, Amount]],
) -> protocol.AgentReport:
    owner = slot.spec.parent or slot.spec.agent_id
    return protocol.AgentReport(
        agent_id=slot.spec.agent_id,
        state=slot.history.state,
        pid=slot.worker.pid if slot.worker is not None else None,
        restarts=slot.history.restarts,
        provider=slot.spec.endpoint.provider,
        model=slot.spec.endpoint.model,
        parent=slot.spec.parent or "",
        memory="agent" if configuration.file.joins_chats(owner) else "person",
        reason=_reason(slot, owner, configuration.problems),
        paused=paused,
        budgets=tuple(
            protocol.BudgetUse(
                window=limits.name,
                tokens=used.tokens,
                usd=used.usd,
                token_limit=limits.tokens,
                usd_limit=limits.usd,
            )
            for limits, used in spent
        ),
    )


def _reason(slot: Slot, owner: str, problems: Iterable[Problem]) -> str:
    """Say why an agent does not run; of one that cannot start, what its definition lacks."""
    if slot.history.state is WorkerState.RUNNING:
        return ""
    if slot.history.state is WorkerState.FATAL:
        for problem in problems:
            if problem.agent_id == owner and problem.path.endswith(".llmProvider"):
                return problem.message
    return slot.history.reason
