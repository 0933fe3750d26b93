"""All advice about the prompts, the skills and the files next to them in a home."""

from collections.abc import Iterator

from orchestrator.agentsfile import AgentsFile, Problem
from orchestrator.extensions.advice.open_files import list_open_files
from orchestrator.extensions.advice.skill_advice import check_skills
from orchestrator.extensions.advice.tool_checks import check_tool_names
from orchestrator.extensions.advice.unread_files import (
    check_home_names,
    check_persona_names,
    check_prompt_names,
)
from orchestrator.prompts.prompt_set import PromptSet
from orchestrator.prompts.skill_set import SkillSet
from orchestrator.settings import Settings


def check_home(
    settings: Settings, agents: AgentsFile, found: PromptSet | SkillSet
) -> Iterator[Problem]:
    """Yield a warning for each setting and file without the effect that its author expects."""
    if isinstance(found, SkillSet):
        yield from check_skills(settings, agents, found)
    else:
        yield from check_home_names(settings.home)
        for path, text in list_open_files(settings):
            yield Problem("warning", str(path), 0, None, text)
        yield from check_prompt_names(settings.paths.prompts)
        yield from check_persona_names(settings.personas, agents)
        yield from check_tool_names(agents, found.host_tools, found.definitions)
