"""The areas playbook_matching, playbook_parse and skill_md, through the product's functions."""

from pathlib import Path
from typing import Any

import pytest
from vector_cases import cases, fixture

from thinker.playbooks import Matcher, Playbook, parse_record
from thinker.protocol.skillfile import SkillFile, scan


def playbooks(value: Any) -> list[Playbook]:
    """The playbooks of a case, or the fixture that it names."""
    rows = fixture("seeded-17 playbooks") if value == "seeded-17" else value
    return [
        Playbook(row["name"], "", "do it", tuple(row["keywords"]), row["priority"]) for row in rows
    ]


@pytest.mark.parametrize(("name", "given", "expected"), cases("playbook_matching"))
def test_message_finds_the_expected_playbooks(
    name: str, given: dict[str, Any], expected: list[str]
) -> None:
    """The matched names, in order."""
    del name
    matched = Matcher(playbooks(given["playbooks"])).match(given["message"])
    assert [playbook.name for playbook in matched] == expected


@pytest.mark.parametrize(("name", "given", "expected"), cases("playbook_parse"))
def test_record_becomes_the_expected_playbook(
    name: str, given: dict[str, Any], expected: dict[str, Any] | None
) -> None:
    """A complete record is read, an incomplete one is none; the row's id is the journal's."""
    del name
    playbook = parse_record(given)
    if expected is None:
        assert playbook is None
        return
    assert playbook is not None
    assert {
        "id": given["id"],
        "name": playbook.name,
        "description": playbook.description,
        "instructions": playbook.instructions,
        "keywords": list(playbook.keywords),
        "priority": playbook.priority,
        "requiredTools": list(playbook.required_tools),
        "source": playbook.source,
    } == expected


def shape(skill: SkillFile) -> dict[str, Any]:
    """A skill in the shape of the vectors, without its numeric id (names are our ids)."""
    optional = {
        "triggerConfig": skill.trigger_config,
        "maxSteps": skill.max_steps,
        "executionPlan": list(skill.execution_plan),
    }
    return {
        "name": skill.name,
        "description": skill.description,
        "instructions": skill.instructions,
        "keywords": list(skill.keywords),
        "priority": skill.priority,
        "requiredTools": list(skill.required_tools),
        "source": "file",
    } | {key: value for key, value in optional.items() if value}


@pytest.mark.parametrize(("name", "given", "expected"), cases("skill_md"))
def test_skill_directory_reads_as_expected(
    name: str, given: dict[str, Any], expected: list[dict[str, Any]], tmp_path: Path
) -> None:
    """The usable skills of a directory; every other file is reported."""
    del name
    for file, text in given["files"].items():
        path = tmp_path / file
        path.parent.mkdir()
        path.write_text(text, "utf-8")
    skills, problems = scan([tmp_path])
    for row in expected:
        row.pop("id", None)
    assert [shape(skill) for skill in skills] == expected
    assert len(skills) + len(problems) == len(given["files"])
