"""Make the objects that open, run and end turns."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial

from orchestrator.daemon.processes import Processes
from orchestrator.extension import DaemonView
from orchestrator.journal.turns import turns
from orchestrator.toolcalls.approvals import ApprovalQueue
from orchestrator.toolcalls.executor import ToolExecutor
from orchestrator.turns.attachments import AttachmentFetcher
from orchestrator.turns.completion import TurnCompletion
from orchestrator.turns.dispatcher import Dispatcher
from orchestrator.turns.embedding_index import EmbeddingIndex
from orchestrator.turns.input_loader import InputLoader
from orchestrator.turns.opener import TurnOpener
from orchestrator.turns.suspension import TurnSuspension
from orchestrator.turns.turn_services import TurnServices
from orchestrator.wakeup import Wakeup


@dataclass(frozen=True, kw_only=True)
class Turns:
    """The objects that turns need, and those that they wake."""

    approvals: ApprovalQueue
    embeddings: EmbeddingIndex
    services: TurnServices
    dispatcher: Dispatcher
    turn_ended: Wakeup
    wake_queues: Callable[[], None]
    wake_after_change: Callable[[], None]

    @property
    def runners(self) -> tuple[Callable[[], Coroutine[None, None, None]], ...]:
        """The tasks that run as long as the daemon."""
        return self.dispatcher.run, self.embeddings.run

    def close(self) -> None:
        """Let turns stop at their next step."""
        self.dispatcher.opener.admitting = False
        for part in (self.embeddings, self.approvals, self.turn_ended):
            part.close()


def make_turns(view: DaemonView, processes: Processes, epoch: int) -> Turns:
    machine, store, prompts = view.machine, view.store, view.configuration.prompts
    supervisor, delivery, guard = processes.supervisor, processes.delivery, processes.guard
    clock, random_bytes = machine.clock, machine.random_bytes
    turn_ended = Wakeup()

    def wake_queues() -> None:
        dispatcher.wake()
        delivery.wake()

    def wake_parts() -> None:
        for part in view.parts:
            part.look_again()

    def wake_after_change() -> None:
        wake_queues()
        wake_parts()

    approvals = ApprovalQueue(store, clock, lambda: random_bytes(4).hex())
    embeddings = EmbeddingIndex(processes.calls, machine.monotonic)
    tools = ToolExecutor(
        store=store,
        servers=processes.servers,
        prompts=prompts,
        tasks=view.tasks,
        approvals=approvals,
        clock=clock,
        changed=wake_after_change,
        activity=delivery.activity,
    )
    inputs = InputLoader(
        store=store,
        agents=view.get_agents_file,
        prompts=prompts,
        tools=tools,
        guard=guard,
        pictures=AttachmentFetcher(store, view.adapters, clock),
        embeddings=embeddings,
        media=processes.media,
        clock=clock,
    )
    services = TurnServices(
        store=store,
        inputs=inputs,
        delivery=delivery,
        supervisor=supervisor,
        settings=view.settings,
        environ=view.environ,
        completion=TurnCompletion(
            store=store,
            delivery=delivery,
            find_agent=lambda agent_id: view.get_agents_file().find_agent(agent_id),
            clock=clock,
        ),
        suspension=TurnSuspension(store, supervisor, delivery, approvals, guard, turn_ended, clock),
        task_ended=wake_parts,
        off_loop=machine.off_loop,
    )
    new_id = partial(turns.make_turn_id, random=random_bytes)
    opener = TurnOpener(inputs, epoch, new_id, view.placement)
    dispatcher = Dispatcher(services, opener, view.tasks)
    return Turns(
        approvals=approvals,
        embeddings=embeddings,
        services=services,
        dispatcher=dispatcher,
        turn_ended=turn_ended,
        wake_queues=wake_queues,
        wake_after_change=wake_after_change,
    )
