"""The composition root: wires every part, owns the root task group, stops in reverse order.

Start: lock, journal (T0), configuration, workers' supervisor, delivery, dispatcher, control socket,
channels. Stop: channels, admission of new turns, workers at their next step boundary, what is left
in the outbox, journal, lock.
"""

import socket
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import anyio
import structlog
from anyio.abc import TaskGroup

from orchestrator import failpoints
from orchestrator.agentsfile import AgentsFile
from orchestrator.channel_set import ChannelSet
from orchestrator.configuration import Configuration
from orchestrator.control import status
from orchestrator.control.chat_watch import ChatWatcher
from orchestrator.control.control_server import ControlServer
from orchestrator.control.mcp_lines import from_first_line
from orchestrator.control.operations import DaemonOperations
from orchestrator.control.page_service import PageService
from orchestrator.control.protocol import EXAMINE
from orchestrator.http_api.api_service import ApiService
from orchestrator.inbound.commands import Commands
from orchestrator.inbound.intake import JournalIntake
from orchestrator.inbound.scheduler import Scheduler
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import chat_moves, turns
from orchestrator.machine import Machine
from orchestrator.maintenance.downtime import DowntimeMonitor
from orchestrator.maintenance.embedding_index import EmbeddingIndex
from orchestrator.maintenance.journal_check import JournalCheck
from orchestrator.maintenance.maintenance_worker import MaintenanceWorker
from orchestrator.maintenance.retention import RetentionJob
from orchestrator.media.answer_speech import AnswerSpeech
from orchestrator.media.media_calls import MediaCalls
from orchestrator.outbound.attachments import AttachmentFetcher
from orchestrator.outbound.delivery import Delivery
from orchestrator.processes import restarts
from orchestrator.processes.child_process import ChildProcess
from orchestrator.processes.jail_requirement import require_at_start
from orchestrator.processes.model_broker import ModelBroker
from orchestrator.processes.supervisor import Supervisor
from orchestrator.pushed.config_follower import ConfigFollower
from orchestrator.settings import Settings
from orchestrator.spending.metered_calls import MeteredCalls
from orchestrator.spending.spending_guard import SpendingGuard
from orchestrator.system.lifetime import Lifetime
from orchestrator.system.sdnotify import Notifier
from orchestrator.telemetry.telemetry_service import Telemetry
from orchestrator.toolcalls.approvals import ApprovalQueue
from orchestrator.toolcalls.executor import ToolExecutor
from orchestrator.tools.builtin.catalog import TOOLS
from orchestrator.tools.mcp.pins import ToolPins
from orchestrator.tools.mcp.servers import McpServers
from orchestrator.turns.completion import TurnCompletion
from orchestrator.turns.dispatcher import Dispatcher
from orchestrator.turns.opener import TurnOpener
from orchestrator.turns.rehearsal import TurnRehearsal
from orchestrator.turns.suspension import TurnSuspension
from orchestrator.turns.turn_host import TurnServices
from orchestrator.turns.turn_inputs import InputLoader
from orchestrator.wakeup import Wakeup
from thinker.protocol.peer import Peer, RequestHandler

if TYPE_CHECKING:
    from orchestrator.mcp_server.mcp_service import McpService

FLUSH = 5.0  # seconds for replies that are ready to go out before the daemon ends
SETTLE = 2.0  # seconds for the queues of chats to notice that their worker drained
log = structlog.get_logger()


class Daemon:
    """Every part, made once."""

    def __init__(
        self, settings: Settings, environ: dict[str, str], store: Store, machine: Machine
    ) -> None:
        self._settings = settings
        self._environ = environ
        self._store = store
        self._machine = machine
        self._clock = machine.clock
        self._notifier = Notifier(environ)
        moved = partial(store.read, chat_moves.every, "telegram")
        means = machine.model_servers, machine.watch, moved, machine.off_loop, machine.clock
        self._configuration = Configuration(settings, environ, *means)
        self._channels = ChannelSet(settings, self._configuration, store, machine)
        self._adapters = self._channels.adapters
        self._downtime = DowntimeMonitor(store, self._clock)
        self._follower = ConfigFollower(store, settings, machine.in_thread)
        self._turn_ended = Wakeup()
        self.control: ControlServer | None = None  # as soon as it is made

    async def run(self) -> None:
        async with AsyncExitStack() as stack, anyio.create_task_group() as tasks:
            # From the beginning, so that a signal during the start is an orderly stop as well.
            life = Lifetime()
            tasks.start_soon(life.follow, self._machine.stop_signals, self._reload)
            with life.starting:
                await self._configuration.boot()
                await require_at_start(self._configuration.file.sandbox)
                epoch = await self._store.attempt(turns.boot, self._clock())
                await self._channels.open(self._environ, stack)
                listener = stack.enter_context(self._machine.listen())
                self._make_processes(tasks)
                await self._configuration.apply(self._supervisor, self._servers)
                self._make_turns(tasks, epoch)
                self._make_inbound()
                control = await self._make_operations()
                await self._api.open()
                self._start(tasks, control, listener)
                life.ready.set()
            if life.ready.is_set():
                await self._serve(life.stopping)
                await self._stop()
            tasks.cancel_scope.cancel()

    # --- the parts, each after those that it needs -----------------------------------------------

    def _make_processes(self, tasks: TaskGroup) -> None:
        """Make what workers, tool servers and channels are reached through."""
        machine, settings, environ = self._machine, self._settings, self._environ
        tasks.start_soon(machine.run)
        clock, jitter = machine.monotonic, partial(restarts.jitter, machine.chance)
        self._broker = ModelBroker(settings, environ, clock, jitter, machine.spawn_broker)
        tasks.start_soon(self._broker.run)
        spawn, in_thread = machine.spawn_worker, machine.in_thread
        self._supervisor = Supervisor(tasks, clock, jitter, spawn, in_thread, self._broker)
        failpoints.watch_processes(failpoints.WORKER, self._supervisor.pids)
        failpoints.watch_processes(failpoints.BROKER, self._broker.pids)
        guard = self._guard = SpendingGuard(self._store, self._agents, self._environ, self._clock)
        self._broker.book = guard.book
        self._calls = MeteredCalls(self._store, self._supervisor, guard)
        self._media = MediaCalls(self._calls, machine.document_text)
        speech = AnswerSpeech(self._media, self._agents, self._clock)
        self._delivery = Delivery(self._store, self._adapters, tasks, self._clock, speech.make)
        pins = ToolPins(self._store, self._agents, self._clock, self._delivery.wake)
        self._servers = McpServers(
            settings, environ, TOOLS, pins, clock, jitter, machine.spawn_tool_host
        )

    def _make_turns(self, tasks: TaskGroup, epoch: int) -> None:
        store, supervisor, delivery = self._store, self._supervisor, self._delivery
        prompts, clock = self._configuration.prompts, self._clock
        monotonic, random_bytes = self._machine.monotonic, self._machine.random_bytes
        approvals = self._approvals = ApprovalQueue(store, clock, lambda: random_bytes(4).hex())
        guard, calls = self._guard, self._calls
        tools = ToolExecutor(
            *(store, self._servers, prompts, tasks, approvals, clock),
            *(self._journal_changed, delivery.activity),
        )
        embeddings = self._embeddings = EmbeddingIndex(calls, monotonic)
        self._maintenance = MaintenanceWorker(
            store, supervisor, guard, embeddings, self._agents, clock
        )
        self._scheduler = Scheduler(
            *(store, self._agents, self._settings, self._environ),
            *(self._arrived, clock, monotonic, self._machine.off_loop),
        )
        pictures = AttachmentFetcher(store, self._adapters, clock)
        inputs = InputLoader(
            *(store, self._agents, prompts, tools, guard),
            *(pictures, embeddings, self._media, clock),
        )
        completion = TurnCompletion(store, delivery, self._maintenance.wake, clock)
        suspension = TurnSuspension(
            store, supervisor, delivery, approvals, guard, self._turn_ended, clock
        )
        services = self._services = TurnServices(
            store,
            inputs,
            delivery,
            supervisor,
            self._settings,
            self._environ,
            completion,
            suspension,
            task_ended=self._scheduler.wake,
            off_loop=self._machine.off_loop,
        )
        self._dispatcher = Dispatcher(
            services, TurnOpener(inputs, epoch, partial(turns.new_id, random=random_bytes)), tasks
        )

    def _make_inbound(self) -> None:
        snapshot = partial(
            status.glance, self._supervisor, self._servers, self._adapters.values(), self._clock()
        )
        self._intake = JournalIntake(
            *(self._store, self._agents, self._delivery.tell),
            *(self._dispatcher, self._arrived, Commands(self._guard, snapshot, self._commanded)),
            clock=self._clock,
            random=self._machine.random_bytes,
            on_move=self._reload,
        )

    async def _make_operations(self) -> ControlServer:
        """Make what the operator and programs reach."""
        machine = self._machine
        operations = self._operations = DaemonOperations(
            store=self._store,
            settings=self._settings,
            configuration=self._configuration,
            supervisor=self._supervisor,
            servers=self._servers,
            adapters=self._adapters,
            dispatcher=self._dispatcher,
            scheduler=self._scheduler,
            guard=self._guard,
            flood=self._delivery.flood,
            notes=lambda: (
                *self._downtime.hints,
                *self._follower.hints,
                *self._telemetry.hints(),
            ),
            notifier=self._notifier,
            others=self._other_children,
            session_grew=self._maintenance.wake,
            clock=self._clock,
        )
        self._telemetry = await Telemetry.begun(
            operations, self._environ, machine.in_thread, machine.chance
        )
        served = self._channels.api, self._telemetry.pages
        self._api = ApiService(
            operations, *served, machine.document_text, lambda: self._mcp, machine.off_loop
        )
        watcher = ChatWatcher(operations, self._channels.console, self._delivery.activity)
        examination = partial(machine.examine, operations, self._environ)
        control = ControlServer(
            *(operations, watcher, self._intake, self._approvals, TurnRehearsal(self._services)),
            wake=self._journal_changed,
            api_changed=self._api.wake,
            extra=lambda: {EXAMINE: examination},
            attached=lambda peer: from_first_line(partial(self._mcp_lines, peer)),
        )
        self._page = PageService(control, self._channels.web, self._environ, self._machine)
        self.control = replace(control, extra=self._page.methods)
        return self.control

    @cached_property
    def _mcp(self) -> "McpService":
        # Most daemons are never asked as a tool server, and do without it.
        from orchestrator.mcp_server.serving import mcp_service  # noqa: PLC0415 - see above

        return mcp_service(
            *(self._operations, self._channels.mcp, self._intake, self._delivery),
            *(self._approvals, self._journal_changed),
            fresh=lambda: self._machine.random_bytes(16).hex(),
        )

    def _mcp_lines(self, peer: Peer) -> RequestHandler:
        from orchestrator.mcp_server.serving import lines_of  # noqa: PLC0415 - as above

        return lines_of(self._mcp, peer)

    def _other_children(self) -> dict[str, ChildProcess | None]:
        own = {"zygote": self._machine.zygote, "page": self._page.process.child}
        return {**own, **self._channels.children()}

    # --- what one part tells others --------------------------------------------------------------

    def _arrived(self) -> None:
        self._dispatcher.wake()
        self._delivery.wake()

    def _journal_changed(self) -> None:
        """Wake what a tool call or the operator may have changed: inbox, outbox, schedule."""
        self._arrived()
        self._scheduler.wake()

    def _commanded(self, stopped: Sequence[str]) -> None:
        """Act on chat commands that are on disk: turns were stopped, agents paused or resumed."""
        self._dispatcher.stop(stopped)
        self._guard.wake()
        self._approvals.wake()
        self._servers.recheck_pins()

    # --- life ------------------------------------------------------------------------------------

    def _start(self, tasks: TaskGroup, control: ControlServer, listener: socket.socket) -> None:
        """Start everything that runs for as long as the daemon does, except channels."""
        tasks.start_soon(self._fail_with_disk)
        tasks.start_soon(control.run, listener)
        for part in (
            *(self._servers, self._notifier, self._downtime, self._api, self._page),
            *(self._dispatcher, self._guard, self._scheduler, self._maintenance),
            *(self._embeddings, RetentionJob(self._store, self._agents, self._clock)),
            *(JournalCheck(self._store, in_thread=self._machine.in_thread), self._telemetry),
            self._follower,
        ):
            tasks.start_soon(part.run)
        tasks.start_soon(self._configuration.watch, self._reload, self._scheduler.skills_changed)
        self._channels.keep(tasks)
        for name in self._adapters:
            tasks.start_soon(self._delivery.run, name)

    async def _serve(self, stopping: anyio.Event) -> None:
        async with anyio.create_task_group() as channels:
            for adapter in self._adapters.values():
                channels.start_soon(adapter.run, self._intake)
            self._announce()
            failpoints.failpoint("ready")
            await stopping.wait()
            channels.cancel_scope.cancel()

    def _agents(self) -> AgentsFile:
        return self._configuration.file

    async def _reload(self) -> None:
        await self._operations.reload()

    async def _fail_with_disk(self) -> None:
        """End the daemon when the disk fails: what is on it is no longer known."""
        raise await self._store.failed()

    def _announce(self) -> None:
        adapters = self._adapters.values()
        status.announce(self._settings.home, self._configuration, self._supervisor, adapters)
        self._notifier.tell("READY=1", f"STATUS={len(self._supervisor.slots)} agents")

    async def _stop(self) -> None:
        """Let turns reach a step boundary, and replies that are ready go out."""
        self._notifier.tell("STOPPING=1")
        self._dispatcher.opener.admitting = False
        for part in (self._maintenance, self._embeddings):
            part.close()
        for waiters in (self._approvals, self._guard, self._turn_ended):
            waiters.close()
        await self._supervisor.drain(self._settings.drain_seconds)
        with anyio.move_on_after(SETTLE):
            await self._dispatcher.wait_idle()
        with anyio.move_on_after(FLUSH):
            followed = len(await self._store.sharing()) > 1
            await (self._delivery.hand_over() if followed else self._delivery.wait_idle())
        with anyio.move_on_after(FLUSH):
            await self._api.stop()
