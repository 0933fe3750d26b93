"""Try an edited skill: which skills a message would bring into the prompt, by which keywords."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import Field

from orchestrator.control.camel_model import CamelModel
from thinker.formats.skill_file import SkillError, SkillFile, parse_skill, scan_skills
from thinker.playbooks import Matcher, Playbook, build_playbook

SKILL_CHECK = "skills/check"  # SkillTrial → SkillMatches
MAX_TEXT, MAX_MESSAGE = 1_000_000, 8000  # characters


class SkillTrial(CamelModel):
    """A skill as it is edited, and a message to try; ``name`` is that of its folder."""

    name: str = Field(max_length=200)
    text: str = Field(max_length=MAX_TEXT)
    message: str = Field(max_length=MAX_MESSAGE)


class SkillMatch(CamelModel):
    """A skill that a message brings into the prompt; ``own`` is the one that is edited."""

    name: str
    keywords: tuple[str, ...]
    own: bool


class SkillMatches(CamelModel):
    """The skills in the order of the prompt; ``problem`` is why the edited one cannot be tried."""

    matches: tuple[SkillMatch, ...] = ()
    problem: str = ""


def try_skill(folders: Sequence[Path], trial: SkillTrial) -> SkillMatches:
    """Return what a message matches among the skills of some folders and the edited one."""
    found, _ = scan_skills(folders)
    try:
        own = parse_skill(trial.text, trial.name)
    except SkillError as error:
        return SkillMatches(problem=str(error.problem))
    others = [skill for skill in found if skill.name != own.name]
    return SkillMatches(matches=match_skills([*others, own], own.name, trial.message))


def match_skills(skills: Iterable[SkillFile], own: str, message: str) -> tuple[SkillMatch, ...]:
    """Return the skills that a message matches, each with its keywords in the message."""
    playbooks = [build_playbook(skill) for skill in skills if skill.keywords]
    return tuple(
        SkillMatch(
            name=playbook.name,
            keywords=tuple(_find_keywords(playbook, message)),
            own=playbook.name == own,
        )
        for playbook in Matcher(playbooks).match(message)
    )


def _find_keywords(playbook: Playbook, message: str) -> Iterable[str]:
    for keyword in playbook.keywords:
        if Matcher([replace(playbook, keywords=(keyword,))]).match(message):
            yield keyword
