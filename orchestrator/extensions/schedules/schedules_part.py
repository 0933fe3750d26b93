"""The scheduler in a daemon."""

from collections.abc import Iterable, Mapping

from pydantic import Field, JsonValue

from orchestrator.agentsfile import AgentsFile
from orchestrator.control.camel_model import CamelModel
from orchestrator.editable import EditableKind
from orchestrator.errors import OrchestratorError
from orchestrator.extension import DaemonView, Part
from orchestrator.extensions.schedules.scheduler import Scheduler
from orchestrator.extensions.schedules.task_kind import TaskKind
from orchestrator.extensions.schedules.task_texts import list_due_times
from thinker.protocol.peer import FAILED, Peer, RequestHandler, RpcError

TASK_CHECK = "tasks/check"  # TaskText → DueTimes
MAX_TEXT = 100_000  # characters of a task


class TaskText(CamelModel):
    """The text of a task, as it is edited."""

    text: str = Field(max_length=MAX_TEXT)


class DueTimes(CamelModel):
    """The next instants of a schedule in milliseconds since the epoch, and its time zone."""

    times: tuple[int, ...]
    timezone: str


class SchedulesPart(Part):
    """Fires due tasks while the daemon runs."""

    def __init__(self, daemon: DaemonView) -> None:
        super().__init__(daemon)
        machine = daemon.machine
        self._scheduler = Scheduler(
            store=daemon.store,
            agents=daemon.get_agents_file,
            settings=daemon.settings,
            environ=daemon.environ,
            on_change=self._wake_queues,
            clock=machine.clock,
            monotonic=machine.monotonic,
            off_loop=machine.off_loop,
        )

    async def open(self) -> None:
        self._scheduler.placement = self.daemon.placement

    async def run(self) -> None:
        await self._scheduler.run()

    def look_again(self) -> None:
        self._scheduler.wake()

    def reread_skills(self) -> None:
        self._scheduler.reread_skills()

    def adopt_configuration(self, old: AgentsFile, new: AgentsFile) -> None:
        """Schedule anew: other agents may have other skills."""
        del old, new
        self._scheduler.reread_skills()

    def list_editable_kinds(self) -> Iterable[EditableKind]:
        return (TaskKind(self.daemon, self._scheduler.wake),)

    def list_control_methods(self, peer: Peer | None) -> Mapping[str, RequestHandler]:
        del peer
        return {TASK_CHECK: self._list_due_times}

    async def _list_due_times(self, params: JsonValue) -> DueTimes:
        daemon, text = self.daemon, TaskText.model_validate(params).text
        now = daemon.machine.clock()
        try:
            zone, times = list_due_times(text, daemon.get_agents_file(), daemon.environ, now)
        except OrchestratorError as error:
            raise RpcError(FAILED, str(error)) from error
        return DueTimes(times=times, timezone=zone)

    def list_faults(self) -> Iterable[str]:
        problem = self._scheduler.find_problem()
        return () if problem is None else (problem,)

    def _wake_queues(self) -> None:
        self.daemon.operations.dispatcher.wake()
        self.daemon.delivery.wake()
