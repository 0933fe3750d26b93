"""The extension for tasks that agents schedule."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from orchestrator.extension import Extension

if TYPE_CHECKING:
    from orchestrator.tools.builtin.host_tool import HostTool


class SchedulesExtension(Extension):
    """Lets agents schedule tasks, list them and cancel them."""

    name = "schedules"

    def list_tools(self) -> "Sequence[HostTool]":
        from orchestrator.extensions.schedules import task_tools

        return (
            task_tools.schedule_task,
            task_tools.list_tasks,
            task_tools.cancel_task,
        )
