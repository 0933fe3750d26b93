"""Files of a home that are not read because of their name or place."""

from pathlib import Path

import pytest
from fakes.agents_file import validate_file

from orchestrator.agentsfile import Problem
from orchestrator.extensions.advice.unread_files import (
    check_home_names,
    check_persona_names,
    check_prompt_names,
    check_skill_names,
)

AGENTS = validate_file({"agents": [{"agentId": "home", "llmProvider": "demo"}]})


def touch(folder: Path, name: str) -> Path:
    """Make a file, with its folders."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("text", "utf-8")
    return path


def told(*problems: Problem) -> list[tuple[str, str]]:
    """The file of each warning, and what to do."""
    assert all(problem.severity == "warning" for problem in problems)
    return [(problem.file, problem.message) for problem in problems]


@pytest.mark.parametrize("name", ["desk.txt", "desk.markdown", "desk.YAML"])
def test_prompt_with_another_ending_is_told(tmp_path: Path, name: str) -> None:
    """Those of editors and hidden ones are not."""
    path = touch(tmp_path, name)
    for other in ("desk.md", "desk.md~", ".desk.txt", "desk.bak"):
        touch(tmp_path, other)
    ((file, message),) = told(*check_prompt_names(tmp_path))
    assert file == str(path)
    assert message.endswith("let its name end in one of: .md, .yaml, .yml, .json")


def test_persona_of_a_misspelt_agent_is_told(tmp_path: Path) -> None:
    """The folder of an agent that was taken out is not."""
    path = touch(tmp_path, "Home/instructions.md").parent
    touch(tmp_path, "gone/instructions.md")
    found = told(*check_persona_names(tmp_path, AGENTS))
    assert found == [
        (str(path), "belongs to no agent, so it is not read; did you mean 'home'?"),
    ]


def test_persona_in_a_file_of_another_name_is_told(tmp_path: Path) -> None:
    """Until there is one of the right name."""
    path = touch(tmp_path, "home/instruction.md").parent
    touch(tmp_path, "home/skills/tea/SKILL.md")
    message = "has no instructions.md, so instruction.md is not read; rename it"
    assert told(*check_persona_names(tmp_path, AGENTS)) == [(str(path), message)]
    touch(tmp_path, "home/instructions.md")
    assert told(*check_persona_names(tmp_path, AGENTS)) == []


def test_what_a_home_has_under_a_wrong_name_is_told(tmp_path: Path) -> None:
    """A daemon without its agents.json would run the bundled one."""
    file, folder = touch(tmp_path, "agent.json"), touch(tmp_path, "skill/tea/SKILL.md").parents[1]
    rename, move = (
        "is not read; rename it to agents.json",
        "is not read; move what is in it to skills",
    )
    assert told(*check_home_names(tmp_path)) == [(str(file), rename), (str(folder), move)]
    touch(tmp_path, "agents.json")
    assert told(*check_home_names(tmp_path)) == [(str(folder), move)]


def test_skill_without_a_folder_is_told(tmp_path: Path) -> None:
    """The folder's name is the skill's."""
    path = touch(tmp_path, "SKILL.md")
    message = "is not read as a skill; move it into a folder of the skill's name"
    assert told(*check_skill_names(tmp_path)) == [(str(path), message)]


def test_skill_in_a_file_of_another_name_is_told(tmp_path: Path) -> None:
    """A README beside the skills is none."""
    upper = touch(tmp_path, "Tea.md")
    lower = touch(tmp_path, "mail/skill.md")
    for good in ("README.md", "plan/SKILL.md", "plan/notes.md"):
        touch(tmp_path, good)
    assert told(*check_skill_names(tmp_path)) == [
        (str(upper), f"is not read as a skill; move it to {tmp_path / 'tea' / 'SKILL.md'}"),
        (str(lower), "is not read as a skill; rename it to SKILL.md"),
    ]


def test_folders_that_cannot_be_read_are_no_fault_here(tmp_path: Path) -> None:
    """They are told where their files are read."""
    path = touch(tmp_path, "file")
    found = (
        *check_prompt_names(path),
        *check_persona_names(path, AGENTS),
        *check_skill_names(path),
    )
    assert told(*found) == []
