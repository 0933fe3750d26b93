"""Read the skill files, and collect their problems."""

from orchestrator.active_extensions import list_file_problems
from orchestrator.agentsfile import AgentsFile, Problem
from orchestrator.inbound.skill_tasks import SkillSet, SkillTasks
from orchestrator.settings import Settings


def check_skill_files(
    settings: Settings, agents: AgentsFile, zone: str, now: int
) -> tuple[Problem, ...]:
    """Read all skill files and return their problems, by file.

    ``zone`` is the time zone of agents without one, ``now`` in milliseconds.
    """
    skills = SkillSet.read_skills(settings, agents)
    planned = SkillTasks(agents, now, zone, fast=settings.fast_tasks)
    planned.plan_tasks(skills)
    found = [
        *(Problem("error", p.file, p.line, None, p.message) for p in skills.problems),
        *planned.problems,
        *list_file_problems(settings, agents, skills),
    ]
    return tuple(sorted(found, key=lambda problem: (problem.file, problem.line)))
