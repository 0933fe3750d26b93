"""The extension for tasks that agents schedule."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from orchestrator.extension import Command, DaemonView, Extension, Part

if TYPE_CHECKING:
    from orchestrator.agentsfile import AgentsFile, Problem
    from orchestrator.prompts.prompt_set import PromptSet
    from orchestrator.prompts.skill_set import SkillSet
    from orchestrator.settings import Settings
    from orchestrator.tools.builtin.host_tool import HostTool
    from orchestrator.turns.recipe import Recipe


class SchedulesExtension(Extension):
    """Lets agents schedule tasks, and runs them when they are due."""

    name = "schedules"

    def list_commands(self) -> Mapping[str, Command]:
        module = "orchestrator.extensions.schedules.commands"
        tasks = "List, run, enable or disable scheduled tasks."
        skills = "List the skills that agents see, and their problems."
        return {
            "tasks": Command("Agents", tasks, f"{module}.tasks"),
            "skills": Command("Agents", skills, f"{module}.skills"),
        }

    def check_files(
        self, settings: "Settings", file: "AgentsFile", found: "PromptSet | SkillSet"
    ) -> "Iterable[Problem]":
        from orchestrator.extensions.schedules.skill_tasks import check_schedules

        return check_schedules(settings, file, found)

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
