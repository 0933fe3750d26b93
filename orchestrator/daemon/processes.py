"""Make the supervisor of workers, the tool host and the spending guard."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial

from orchestrator import failpoints
from orchestrator.extension import DaemonView
from orchestrator.media_service import MediaService, NoMedia
from orchestrator.outbound.delivery import Delivery
from orchestrator.processes import restarts
from orchestrator.processes.model_broker import ModelBroker
from orchestrator.processes.supervisor import Supervisor
from orchestrator.processes.worker_places import WorkerPlaces, find_default_limit
from orchestrator.spending.metered_calls import MeteredCalls
from orchestrator.spending.spending_guard import SpendingGuard
from orchestrator.tools.remote_tools import NoRemoteTools, RemoteTools


@dataclass(frozen=True, kw_only=True)
class Processes:
    """The objects that run processes, and those that limit their spending."""

    broker: ModelBroker
    supervisor: Supervisor
    guard: SpendingGuard
    calls: MeteredCalls
    media: MediaService
    delivery: Delivery
    servers: RemoteTools

    @property
    def runners(self) -> tuple[Callable[[], Coroutine[None, None, None]], ...]:
        """The tasks that run as long as the daemon."""
        return (self.guard.run,)


def make_processes(view: DaemonView) -> Processes:
    machine, settings, environ = view.machine, view.settings, view.environ
    clock, jitter = machine.monotonic, partial(restarts.draw_jitter, machine.draw_fraction)
    broker = ModelBroker(settings, environ, clock, jitter, machine.spawn_broker)
    supervisor = Supervisor(
        view.tasks,
        clock,
        jitter,
        machine.spawn_worker,
        machine.in_thread,
        broker,
        WorkerPlaces(settings.max_workers or find_default_limit()),
    )
    failpoints.watch_processes(failpoints.WORKER, supervisor.list_pids)
    failpoints.watch_processes(failpoints.BROKER, broker.list_pids)
    guard = SpendingGuard(
        view.store, view.get_agents_file, view.environ, machine.clock, view.placement
    )
    broker.book = guard.queue_unnamed_call
    calls = view.calls = MeteredCalls(view.store, supervisor, guard)
    services = (part.build_media_service() for part in view.parts)
    media = next(filter(None, services), None) or NoMedia(view.store, machine.document_text)
    delivery = view.delivery = Delivery(
        view.store,
        view.adapters,
        view.tasks,
        machine.clock,
        media.store_speech,
        placement=view.placement,
    )
    sources = (part.build_remote_tools() for part in view.parts)
    return Processes(
        broker=broker,
        supervisor=supervisor,
        guard=guard,
        calls=calls,
        media=media,
        delivery=delivery,
        servers=next(filter(None, sources), None) or NoRemoteTools(),
    )
