"""Read the skill files, and collect their problems."""

from orchestrator.active_extensions import list_file_problems
from orchestrator.agentsfile import AgentsFile, Problem
from orchestrator.prompts.skill_set import SkillSet
from orchestrator.settings import Settings


def check_skill_files(settings: Settings, agents: AgentsFile) -> tuple[Problem, ...]:
    """Read all skill files and return their problems, by file."""
    skills = SkillSet.read_skills(settings, agents)
    found = [
        *(Problem("error", p.file, p.line, None, p.message) for p in skills.problems),
        *list_file_problems(settings, agents, skills),
    ]
    return tuple(sorted(found, key=lambda problem: (problem.file, problem.line)))
