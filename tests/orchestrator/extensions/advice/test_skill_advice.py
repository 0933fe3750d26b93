"""Settings of skills without effect, and skills that are not found, are told."""

from pathlib import Path

import pytest
from fakes.agents_file import validate_file

from orchestrator.prompts.skill_checks import check_skill_files
from orchestrator.settings import Settings


def told(home: Path, **fields: object) -> list[str]:
    """The problems of the skills in a home with one agent."""
    agent = {"agentId": "work", "llmProvider": "demo"}
    file = validate_file({"agents": [agent], **fields})
    return [str(p) for p in check_skill_files(Settings(home=home), file)]


def write(folder: Path, fields: str, name: str = "tea") -> Path:
    """Write a skill whose fields begin in line 4."""
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(f"---\nname: {name}\ndescription: d\n{fields}\n---\nBoil.\n", "utf-8")
    return path


def test_bundled_skills_are_sound(tmp_path: Path) -> None:
    """A fresh home has no problem."""
    assert told(tmp_path) == []


@pytest.mark.parametrize(
    ("fields", "line", "message"),
    [
        ("metadata:\n  keywordz: [a]", 5, '"metadata.keywordz" has no effect; did you mean "key'),
        ("keywords: [a]", 4, '"keywords" has no effect; indent it below "metadata"'),
        ('schedule: "0 8 * * *"', 4, '"schedule" has no effect; indent it below "trigger_config"'),
        ("metadata: {cron: 0 8 * * *}", 4, '"metadata.cron" has no effect; indent it below "trig'),
        ("metadata: {required_tools: [get_tim]}", 4, "tool 'get_tim'; did you mean \"get_time\"?"),
        (
            "metadata:\n  execution_plan: [{toolName: brew, parameters: {}}]",
            5,
            "it needs the unknown tool 'brew'; add its MCP server or remove it",
        ),
        (
            "metadata:\n  trigger_config:\n    interval_minutes: 9\n    timezon: UTC",
            7,
            '"trigger_config.timezon" is unknown; did you mean "timezone"?',
        ),
    ],
)
def test_setting_without_an_effect_is_a_warning_with_its_line(
    tmp_path: Path, fields: str, line: int, message: str
) -> None:
    """The skill is used all the same."""
    path = write(tmp_path / "skills", fields)
    (problem,) = told(tmp_path)
    assert problem.startswith(f"{path}:{line}: warning: skill 'tea': ")
    assert message in problem


@pytest.mark.parametrize(
    "fields",
    [
        "metadata: {author: x, version: 2, tags: [a]}",
        "allowed-tools: Bash(git:*) Read",
        "metadata: {required_tools: [wiki_search]}",
        "agent: general-purpose\nuser-invocable: true",
    ],
)
def test_fields_of_other_programs_and_tools_of_servers_are_no_problem(
    tmp_path: Path, fields: str
) -> None:
    """The format lets every program have fields of its own."""
    write(tmp_path / "skills", fields)
    assert told(tmp_path, mcpServers={"wiki": {"command": "true"}}) == []


def test_skills_that_are_too_deep_are_told(tmp_path: Path) -> None:
    """One line for a collection; a skill's own folders are its files."""
    skills = tmp_path / "skills"
    write(skills / "many", "license: MIT", "pdf")
    write(skills / "many" / "more", "license: MIT", "docx")
    write(skills, "license: MIT")
    write(skills / "tea", "license: MIT", "references")
    (problem,) = told(tmp_path)
    assert problem == (
        f"{skills / 'many'}: warning: its skills are too deep to be found: more/docx, pdf;"
        f" move each folder to {skills}"
    )


def test_skill_that_an_agent_names_and_no_folder_has_is_told(tmp_path: Path) -> None:
    """Otherwise the agent lacks it without a word."""
    write(tmp_path / "skills", "license: MIT")
    agent = {"agentId": "work", "llmProvider": "demo", "skills": ["te", "t*", "*"]}
    (problem,) = told(tmp_path, agents=[agent])
    assert problem == (
        "agents.json: warning: agent 'work': no skill is called 'te'; did you mean \"tea\"?"
    )
