"""The extension for tasks that agents schedule."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from orchestrator.extension import DaemonView, Extension, Part

if TYPE_CHECKING:
    from orchestrator.tools.builtin.host_tool import HostTool
    from orchestrator.turns.recipe import Recipe


class SchedulesExtension(Extension):
    """Lets agents schedule tasks, and runs them when they are due."""

    name = "schedules"

    def list_tools(self) -> "Sequence[HostTool]":
        from orchestrator.extensions.schedules import task_tools

        return (
            task_tools.schedule_task,
            task_tools.list_tasks,
            task_tools.cancel_task,
        )

    def list_recipes(self) -> "Mapping[str, type[Recipe]]":
        from orchestrator.extensions.schedules.task_turn import TaskRecipe

        return {"proactive": TaskRecipe}

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.schedules.schedules_part import SchedulesPart

        return SchedulesPart(daemon)
