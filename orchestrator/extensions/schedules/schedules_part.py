"""The scheduler in a daemon."""

from collections.abc import Iterable

from orchestrator.agentsfile import AgentsFile
from orchestrator.editable import EditableKind
from orchestrator.extension import DaemonView, Part
from orchestrator.extensions.schedules.scheduler import Scheduler
from orchestrator.extensions.schedules.task_kind import TaskKind


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

    def list_faults(self) -> Iterable[str]:
        problem = self._scheduler.find_problem()
        return () if problem is None else (problem,)

    def _wake_queues(self) -> None:
        self.daemon.operations.dispatcher.wake()
        self.daemon.delivery.wake()
