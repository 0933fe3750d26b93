"""Make the parts that accept messages, and those that answer operators and programs."""

from collections.abc import Mapping, Sequence
from itertools import chain

from anyio.lowlevel import checkpoint

from orchestrator.agentsfile import AgentsFile
from orchestrator.control import status
from orchestrator.control.chat_watch import ChatWatcher
from orchestrator.control.console import Console
from orchestrator.control.control_server import ControlServer
from orchestrator.control.operations import DaemonOperations
from orchestrator.daemon.processes import Processes
from orchestrator.daemon.turns import Turns
from orchestrator.extension import DaemonView
from orchestrator.inbound.command_queue import CommandQueue
from orchestrator.inbound.commands import Commands, DaemonSnapshot
from orchestrator.inbound.intake import JournalIntake
from orchestrator.processes.child_process import ChildProcess
from orchestrator.system.sdnotify import Notifier
from thinker.protocol.peer import Peer, RequestHandler


def make_intake(view: DaemonView, processes: Processes, turns: Turns) -> JournalIntake:
    started = view.machine.clock()

    def build_snapshot() -> DaemonSnapshot:
        adapters = view.adapters.values()
        return status.build_snapshot(processes.supervisor, processes.servers, adapters, started)

    def apply_commands(stopped: Sequence[str]) -> None:
        """Act on committed chat commands: turns stopped, agents paused or resumed."""
        turns.dispatcher.stop_turns(stopped)
        processes.guard.wake()
        turns.approvals.wake()
        processes.servers.recheck_pins()

    async def reload() -> None:
        await view.operations.reload_configuration()

    commands = Commands(processes.guard, build_snapshot, apply_commands)
    queue = CommandQueue(view.store, commands, turns.wake_queues)
    turns.dispatcher.answer_commands = queue.answer_commands
    return JournalIntake(
        store=view.store,
        agents=view.get_agents_file,
        tell=processes.delivery.send_unstored,
        queues=turns.dispatcher,
        on_answer=turns.wake_queues,
        commands=commands,
        clock=view.machine.clock,
        random=view.machine.random_bytes,
        on_move=reload,
        placement=view.placement,
    )


def make_operations(
    view: DaemonView,
    processes: Processes,
    turns: Turns,
    notifier: Notifier,
) -> DaemonOperations:
    async def announce_change(old: AgentsFile, new: AgentsFile) -> None:
        for part in view.parts:
            part.adopt_configuration(old, new)
            await checkpoint()  # some look at all agents

    def list_children() -> Mapping[str, ChildProcess | None]:
        """List the children of the core besides those of agents, and those of extensions."""
        own: dict[str, ChildProcess | None] = {"zygote": view.machine.zygote}
        return own | dict(chain.from_iterable(part.list_children().items() for part in view.parts))

    return DaemonOperations(
        store=view.store,
        settings=view.settings,
        configuration=view.configuration,
        supervisor=processes.supervisor,
        servers=processes.servers,
        adapters=view.adapters,
        dispatcher=turns.dispatcher,
        guard=processes.guard,
        flood=processes.delivery.flood,
        notifier=notifier,
        others=list_children,
        faults=lambda: chain.from_iterable(part.list_faults() for part in view.parts),
        notes=lambda: chain.from_iterable(part.list_hints() for part in view.parts),
        configured=announce_change,
        clock=view.machine.clock,
    )


def make_control(
    view: DaemonView, console: Console, processes: Processes, turns: Turns
) -> ControlServer:
    def list_added_methods(peer: Peer | None) -> Mapping[str, RequestHandler]:
        return {
            name: handler
            for part in view.parts
            for name, handler in part.list_control_methods(peer).items()
        }

    def list_authored_methods(by: str) -> Mapping[str, RequestHandler]:
        methods = (part.list_authored_methods(by) for part in view.parts)
        return dict(chain.from_iterable(found.items() for found in methods))

    def place_methods(
        methods: Mapping[str, RequestHandler], by: str
    ) -> Mapping[str, RequestHandler]:
        for part in view.parts:
            methods = part.place_control_methods(methods, by)
        return methods

    return ControlServer(
        daemon=view.operations,
        chats=ChatWatcher(view.operations, console, processes.delivery.activity),
        intake=view.intake,
        approvals=turns.approvals,
        wake=turns.wake_after_change,
        added=list_added_methods,
        authored=list_authored_methods,
        placed=place_methods,
    )
