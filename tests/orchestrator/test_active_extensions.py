"""What extensions say about files is asked for, and a stranger's fault costs nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.agents_file import WORK, parsed, validate_file
from fakes.installed_extensions import install_extensions

from orchestrator.active_extensions import list_file_problems
from orchestrator.agentsfile import AgentsFile, Problem
from orchestrator.extension import Extension
from orchestrator.prompts.library import PromptLibrary
from orchestrator.prompts.prompt_set import PromptSet
from orchestrator.prompts.skill_checks import check_skill_files
from orchestrator.prompts.skill_set import SkillSet
from orchestrator.settings import Settings


class TidyExtension(Extension):
    """Counts what was read."""

    name = "tidy"

    def check_files(
        self, settings: Settings, file: AgentsFile, found: PromptSet | SkillSet
    ) -> Iterator[Problem]:
        """The number of prompts or skills, and the home."""
        del file
        if isinstance(found, PromptSet):
            text = f"{len(found.definitions)} prompts"
        else:
            text = f"{sum(1 for _ in found.iter_skills())} skills"
        yield Problem("warning", str(settings.home), 0, None, text)


class MessyExtension(Extension):
    """Fails after its first problem."""

    name = "messy"

    def check_files(
        self, settings: Settings, file: AgentsFile, found: PromptSet | SkillSet
    ) -> Iterator[Problem]:
        """One problem, then none."""
        del settings, file
        yield Problem("warning", "here", 0, None, str(found))
        raise RuntimeError("it rains")


def told(home: Path, file: AgentsFile) -> list[str]:
    """What is said of a home that has no prompts."""
    return [str(one) for one in list_file_problems(Settings(home=home), file, PromptSet())]


def test_problems_of_prompts_and_of_skills_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for each reading, with what was found."""
    install_extensions(monkeypatch, own=(TidyExtension(),))
    settings, file = Settings(home=tmp_path), validate_file({"agents": [WORK]})
    library = PromptLibrary(settings)
    library.read_files(file)
    prompts = [one.message for one in library.current_set.problems]
    assert prompts == [f"{len(library.current_set.definitions)} prompts"]
    skills = [one.message for one in check_skill_files(settings, file)]
    assert len(skills) == 1
    assert skills[0].endswith(" skills")


def test_stranger_is_asked_only_if_the_file_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Like every hook of the kind."""
    install_extensions(monkeypatch, foreign=(TidyExtension(),))
    assert told(tmp_path, parsed(WORK).file) == []
    named = parsed(WORK, extensions={"tidy": {}}).file
    assert told(tmp_path, named) == [f"{tmp_path}: warning: 0 prompts"]


def test_fault_of_a_stranger_becomes_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it said before does not count."""
    install_extensions(monkeypatch, foreign=(MessyExtension(), TidyExtension()))
    named = parsed(WORK, extensions={"messy": {}, "tidy": {}}).file
    assert told(tmp_path, named) == [
        "agents.json: warning: extension 'messy' cannot check files: RuntimeError: it rains",
        f"{tmp_path}: warning: 0 prompts",
    ]


def test_fault_of_ours_is_a_fault_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not hidden among the user's own."""
    install_extensions(monkeypatch, own=(MessyExtension(),))
    with pytest.raises(RuntimeError, match="it rains"):
        told(tmp_path, validate_file({"agents": [WORK]}))
