"""The life of a daemon: start every object, run the root task group, stop in reverse order.

Start: lock, journal (T0), configuration, workers' supervisor, delivery, dispatcher, control socket,
channels. Stop: channels, admission of new turns, workers at their next step boundary, what is left
in the outbox, journal, lock.

Where: does the daemon start and stop?
"""

import socket
from contextlib import AsyncExitStack
from functools import partial

import anyio
import structlog
from anyio.abc import TaskGroup

from orchestrator import failpoints
from orchestrator.configuration import Configuration
from orchestrator.control import status
from orchestrator.control.control_server import ControlServer
from orchestrator.daemon.channels import ChannelSet
from orchestrator.daemon.control import (
    make_control,
    make_intake,
    make_operations,
)
from orchestrator.daemon.extension_parts import make_parts
from orchestrator.daemon.processes import Processes, make_processes
from orchestrator.daemon.turns import Turns, make_turns
from orchestrator.extension import DaemonView
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import chat_moves, turns
from orchestrator.machine import Machine
from orchestrator.placement import SingleNode
from orchestrator.processes.jail_requirement import require_jail_at_start
from orchestrator.settings import Settings
from orchestrator.system.lifetime import Lifetime
from orchestrator.system.sdnotify import Notifier

FLUSH_SECONDS = 5.0  # seconds for replies that are ready to go out before the daemon ends
SETTLE_SECONDS = 2.0  # seconds for the queues of chats to notice that their worker drained
log = structlog.get_logger()


class Daemon:
    """One daemon, from start to end."""

    control: ControlServer | None = None  # once it has been made

    def __init__(
        self, settings: Settings, environ: dict[str, str], store: Store, machine: Machine
    ) -> None:
        self._settings = settings
        self._environ = environ
        self._store = store
        self._machine = machine
        self._notifier = Notifier(environ)
        moved = partial(store.read, chat_moves.load_all_moves)
        self._configuration = Configuration(
            settings,
            environ,
            machine.model_servers,
            machine.watch,
            moved,
            machine.off_loop,
        )

    async def run(self) -> None:
        async with AsyncExitStack() as stack, anyio.create_task_group() as tasks:
            # From the beginning, so that a signal during the start is an orderly stop as well.
            life = Lifetime()
            tasks.start_soon(life.follow_signals, self._machine.stop_signals, self._reload)
            view = self._view = DaemonView(
                settings=self._settings,
                environ=self._environ,
                store=self._store,
                machine=self._machine,
                configuration=self._configuration,
                adapters={},
                stack=stack,
                tasks=tasks,
                stopping=life.stopping,
            )
            with life.starting:
                processes, work = await self._make_everything(view)
                life.ready.set()
            if life.ready.is_set():
                await self._serve_channels(processes)
                await self._stop(processes, work)
            tasks.cancel_scope.cancel()

    async def _make_everything(self, view: DaemonView) -> tuple[Processes, Turns]:
        """Make each object after its dependencies, and start what runs as long as the daemon."""
        configuration, machine = self._configuration, self._machine
        await configuration.read_at_start()
        await require_jail_at_start(configuration.file.sandbox)
        view.parts = make_parts(view)
        placements = (part.build_placement() for part in view.parts)
        view.placement = next(filter(None, placements), None) or SingleNode()
        share = view.placement.share
        epoch = await self._store.transact_once(turns.boot, machine.clock(), share)
        view.epoch = epoch
        channels = self._channels = ChannelSet(view)
        view.add_adapter = channels.add_adapter
        await channels.make_channels()
        listener = view.stack.enter_context(machine.listen())
        view.tasks.start_soon(machine.run)
        processes = make_processes(view)
        view.tasks.start_soon(processes.broker.run)
        await configuration.apply_to_processes(processes.supervisor, processes.servers)
        work = make_turns(view, processes, epoch)
        view.approvals, view.turns = work.approvals, work.services
        view.intake = make_intake(view, processes, work)
        view.operations = make_operations(view, processes, work, self._notifier)
        self.control = view.control = make_control(view, channels.console, processes, work)
        for part in view.parts:
            await part.open()
            work.services.completion.listeners.extend(part.list_reply_listeners())
        self._start(view.tasks, listener, processes, work)
        return processes, work

    def _start(
        self, tasks: TaskGroup, listener: socket.socket, processes: Processes, work: Turns
    ) -> None:
        """Start everything that runs as long as the daemon, except channels."""
        view = self._view
        tasks.start_soon(self._fail_with_disk)
        tasks.start_soon(view.control.run, listener)
        parts = [part.run for part in view.parts]
        for run in (self._notifier.run, *processes.runners, *work.runners, *parts):
            tasks.start_soon(run)
        tasks.start_soon(
            self._configuration.watch_files,
            view.operations.apply_edit,
            self._reread_skills,
        )
        for name in view.adapters:
            tasks.start_soon(processes.delivery.run, name)

    async def _serve_channels(self, processes: Processes) -> None:
        view = self._view
        async with anyio.create_task_group() as channels:
            self._channels.start_receiving(channels)
            status.announce_ready(
                self._settings.home,
                self._configuration,
                processes.supervisor,
                view.adapters.values(),
            )
            self._machine.freeze_memory()
            count = len(processes.supervisor.slots)
            self._notifier.send_state("READY=1", f"STATUS={count} agents")
            failpoints.failpoint("ready")
            await view.stopping.wait()
            channels.cancel_scope.cancel()

    def _reread_skills(self) -> None:
        for part in self._view.parts:
            part.reread_skills()

    async def _reload(self) -> None:
        await self._view.operations.reload_configuration()

    async def _fail_with_disk(self) -> None:
        """Stop the daemon when the disk fails: its contents are unknown then."""
        raise await self._store.wait_for_failure()

    async def _stop(self, processes: Processes, work: Turns) -> None:
        """Let turns reach a step boundary, and send the replies that are ready."""
        self._notifier.send_state("STOPPING=1")
        work.close()
        processes.guard.close()
        await processes.supervisor.drain_workers(self._settings.drain_seconds)
        with anyio.move_on_after(SETTLE_SECONDS):
            await work.dispatcher.wait_idle()
        delivery = processes.delivery
        with anyio.move_on_after(FLUSH_SECONDS):
            followed = len(await self._store.sharing()) > 1
            await (delivery.finish_sending() if followed else delivery.wait_idle())
        with anyio.move_on_after(FLUSH_SECONDS):
            async with anyio.create_task_group() as closing:
                for part in self._view.parts:
                    closing.start_soon(part.close)
