"""The composition root: wires every part, owns the root task group, stops in reverse order.

Start: lock, journal (T0), configuration, workers' supervisor, delivery, dispatcher, control socket,
channels. Stop: channels, admission of new turns, workers at their next step boundary, what is left
in the outbox, journal, lock.
"""

import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from functools import partial

import anyio
import structlog
from anyio.abc import TaskGroup

from orchestrator import __version__, failpoints
from orchestrator.agentsfile import AgentsFile
from orchestrator.channel_api import Adapter
from orchestrator.channel_factory import open_channels
from orchestrator.configuration import Configuration
from orchestrator.control import control_server, status
from orchestrator.control.console import Console
from orchestrator.control.control_server import ControlHandlers, ControlServer
from orchestrator.control.operations import DaemonOperations
from orchestrator.errors import ConfigError
from orchestrator.http_api.api_channel import ApiChannel
from orchestrator.http_api.api_context import ApiContext
from orchestrator.http_api.service import ApiService
from orchestrator.inbound.commands import Commands
from orchestrator.inbound.intake import JournalIntake
from orchestrator.inbound.scheduler import Scheduler
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import turns
from orchestrator.maintenance.downtime import DowntimeMonitor
from orchestrator.maintenance.embedding_index import EmbeddingIndex
from orchestrator.maintenance.maintenance_worker import MaintenanceWorker
from orchestrator.maintenance.retention import RetentionJob
from orchestrator.outbound.attachments import Pictures
from orchestrator.outbound.delivery import Delivery
from orchestrator.processes import child_process, reaper
from orchestrator.processes.child_process import Spawn
from orchestrator.processes.supervisor import Supervisor
from orchestrator.processes.zygotes import Zygotes
from orchestrator.settings import Settings
from orchestrator.spending.metered_calls import MeteredCalls
from orchestrator.spending.spending_guard import SpendingGuard
from orchestrator.system.homelock import locked
from orchestrator.system.sdnotify import Notifier
from orchestrator.toolcalls.approvals import ApprovalQueue
from orchestrator.toolcalls.executor import ToolRunner
from orchestrator.tools.builtin.catalog import TOOLS
from orchestrator.tools.mcp.pins import ToolPins
from orchestrator.tools.mcp.servers import ToolServers
from orchestrator.turns.dispatcher import Dispatcher
from orchestrator.turns.turn_inputs import TurnServices
from orchestrator.wakeup import Wakeup
from thinker.protocol import logs

FLUSH = 5.0  # seconds for replies that are ready to go out before the daemon ends
SETTLE = 2.0  # seconds for lanes to notice that their worker drained
log = structlog.get_logger()


def run(settings: Settings, environ: Mapping[str, str]) -> int:
    """Run the daemon until SIGTERM or SIGINT; the exit code is one of `ExitCode`.

    Raises:
        ConfigError: it cannot start with this configuration.
        AlreadyRunningError: another daemon holds the home.
        JournalError: the journal cannot be opened, or the disk is full.
        StorageFailedError: the disk failed; nothing was acknowledged since.
    """
    if sys.platform != "linux":
        raise ConfigError("orchestrator runs on Linux (kernel 5.4 or newer) only")
    logs.configure(settings.log_level)
    os.umask(0o077)
    reaper.adopt_orphans()
    settings.paths.prepare()
    with locked(settings):
        store = Store(settings.paths.journal)
        try:
            anyio.run(Daemon(settings, dict(environ), store).run)
        except ExceptionGroup:
            if store.failure is None:
                raise
            raise store.failure from None
        finally:
            reaper.end_orphans()
            store.close()
    return 0


class Daemon:
    """Every part, made once."""

    def __init__(self, settings: Settings, environ: dict[str, str], store: Store) -> None:
        self._settings = settings
        self._environ = environ
        self._store = store
        self._notifier = Notifier(environ)
        self._configuration = Configuration(settings, environ)
        self._api_channel = ApiChannel(store)
        self._adapters: dict[str, Adapter] = {self._api_channel.name: self._api_channel}

    async def run(self) -> None:
        """Start, wait for a signal to stop, stop in order."""
        async with AsyncExitStack() as stack:
            # From the beginning, so that a signal during the start is an orderly stop as well.
            handled = stack.enter_context(ExitStack())
            signals = handled.enter_context(
                anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
            )
            self._configuration.boot()
            epoch = await self._store.attempt(turns.boot, _now())
            console = Console(self._store)
            self._adapters |= await open_channels(
                stack, self._store, self._settings, self._configuration, console
            )
            listener = stack.enter_context(control_server.listen(self._settings))
            await self._serve(console, listener, epoch, partial(self._stopped, signals, handled))

    async def _serve(
        self,
        console: Console,
        listener: socket.socket,
        epoch: int,
        stopped: Callable[[], Awaitable[None]],
    ) -> None:
        """Everything that runs, from the workers' supervisor to the channels, until ``stopped``."""
        async with anyio.create_task_group() as tasks:
            supervisor = self._supervisor = Supervisor(tasks, spawn=self._spawn(tasks))
            failpoints.watch_workers(supervisor.pids)
            delivery = Delivery(self._store, self._adapters, tasks, _now)
            pins = ToolPins(self._store, self._agents, _now, delivery.wake)
            servers = self._servers = ToolServers(self._settings, self._environ, TOOLS, pins)
            await self._configuration.apply(supervisor, servers)
            desk = self._desk = ApprovalQueue(self._store, _now)
            gate = self._gate = SpendingGuard(self._store, self._agents, self._environ, _now)

            def arrived() -> None:
                dispatcher.wake()
                delivery.wake()

            def grew() -> None:
                upkeep.wake()

            def called() -> None:
                arrived()
                scheduler.wake()

            prompts = self._configuration.prompts
            tools = ToolRunner(self._store, servers, prompts, tasks, desk, _now, called)
            ends = self._ends = Wakeup()
            scheduler = Scheduler(
                self._store, self._agents, self._settings, self._environ, arrived, _now
            )
            background = MeteredCalls(self._store, supervisor, gate)
            embeddings = self._embeddings = EmbeddingIndex(background, time.monotonic)
            services = TurnServices(
                store=self._store,
                supervisor=supervisor,
                delivery=delivery,
                tools=tools,
                desk=desk,
                gate=gate,
                pictures=Pictures(self._store, self._adapters, _now),
                embeddings=embeddings,
                settings=self._settings,
                environ=self._environ,
                agents=self._agents,
                prompts=prompts,
                clock=_now,
                epoch=epoch,
                tasks_changed=scheduler.wake,
                session_grew=grew,
                ends=ends,
            )
            upkeep = self._upkeep = MaintenanceWorker(
                self._store, supervisor, gate, embeddings, self._agents, _now
            )
            dispatcher = Dispatcher(services, tasks)
            downtime = DowntimeMonitor(self._store, _now)
            commands = self._commands(dispatcher)
            intake = JournalIntake(
                self._store, self._agents, self._adapters, dispatcher, arrived, commands
            )
            administration = self._administration = DaemonOperations(
                services,
                self._configuration,
                servers,
                self._adapters,
                dispatcher,
                scheduler,
                downtime,
                self._notifier,
            )
            configured, health = self._configuration.changed, administration.health
            parts = ApiContext(services, self._api_channel, dispatcher, configured, health)
            api = self._api = ApiService(parts)
            operations = ControlHandlers(
                *(administration.status, administration.health, administration.reload),
                arrived,
                desk,
                gate,
                scheduler.wake,
                api.wake,
                servers.look_again,
            )
            server = ControlServer(self._store, supervisor, console, intake, operations, _now)
            tasks.start_soon(partial(reaper.reap_orphans, child_process.is_child, end=True))
            tasks.start_soon(server.run, listener)
            lasting = (servers.run, self._notifier.run, downtime.run, api.run, self._fail_with_disk)
            driving = (dispatcher.run, gate.run, scheduler.run, upkeep.run, embeddings.run)
            for work in (*lasting, *driving, RetentionJob(self._store, self._agents, _now).run):
                tasks.start_soon(work)
            tasks.start_soon(
                self._configuration.watch, administration.reload_quietly, scheduler.skills_changed
            )
            for name in self._adapters:
                tasks.start_soon(delivery.run, name)
            async with anyio.create_task_group() as channels:
                for adapter in self._adapters.values():
                    channels.start_soon(adapter.run, intake)
                self._announce()
                failpoints.failpoint("ready")
                await stopped()
                channels.cancel_scope.cancel()
            await self._stop(tasks, dispatcher, delivery)

    def _spawn(self, tasks: TaskGroup) -> Spawn:
        """How workers are started."""
        if self._settings.spawn == "exec":
            return child_process.execute
        zygotes = Zygotes(self._settings, self._environ)
        tasks.start_soon(zygotes.run)
        return zygotes.spawn

    def _commands(self, dispatcher: Dispatcher) -> Commands:
        """What chats may ask of the daemon itself."""

        def after(stopped: Sequence[str]) -> None:
            dispatcher.stop(stopped)
            self._gate.wake()
            self._desk.wake()
            self._servers.look_again()

        parts = (self._supervisor, self._servers, self._adapters.values(), _now())
        look = partial(status.glance, *parts)
        return Commands(self._agents, self._gate, self._environ, look, after, _now)

    def _agents(self) -> AgentsFile:
        """The configuration in force."""
        return self._configuration.file

    async def _fail_with_disk(self) -> None:
        """Nobody may go on: what is on the disk is not known any more (F22)."""
        raise await self._store.failed()

    def _announce(self) -> None:
        log.info(
            "ready",
            version=__version__,
            home=str(self._settings.home),
            config=str(self._configuration.path),
            agents=sorted(self._supervisor.slots()),
            channels=sorted(self._adapters),
        )
        for hint in status.hints(self._configuration, self._supervisor):
            log.info("hint", text=hint)
        self._notifier.tell("READY=1", f"STATUS={len(self._supervisor.slots())} agents")

    async def _stopped(self, signals: AsyncIterator[signal.Signals], handled: ExitStack) -> None:
        """Wait for a signal to stop; the next one ends the process at once."""
        async for number in signals:
            if number is not signal.SIGHUP:
                log.info("stopping", signal=number.name)
                handled.close()
                return
            await self._administration.reload_quietly()

    async def _stop(self, tasks: TaskGroup, dispatcher: Dispatcher, delivery: Delivery) -> None:
        self._notifier.tell("STOPPING=1")
        dispatcher.stop_admitting()
        self._upkeep.close()
        self._embeddings.close()
        self._desk.close()
        self._gate.close()
        self._ends.close()
        await self._supervisor.drain(self._settings.drain_seconds)
        with anyio.move_on_after(SETTLE):
            await dispatcher.settled()
        for flushed in (delivery.settled, self._api.stop):
            with anyio.move_on_after(FLUSH):
                await flushed()
        tasks.cancel_scope.cancel()


def _now() -> int:
    return time.time_ns() // 1_000_000
