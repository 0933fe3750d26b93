"""The areas playbook_matching, playbook_parse and skill_md."""

import tempfile
from pathlib import Path
from typing import Any

from vector_runner.cases import Area, Case

from thinker.formats.skill_file import NAME, SkillFile, scan_skills
from thinker.playbooks import Matcher, Playbook, parse_record


def _match(given: dict[str, Any]) -> list[str]:
    books = [
        Playbook(row["name"], "", "do it", tuple(row["keywords"]), row.get("priority", 0))
        for row in given["playbooks"]
    ]
    return [playbook.name for playbook in Matcher(books).match(given["message"])]


def _beyond_ascii(case: Case, got: list[str]) -> bool:
    """Return whether the message or a differing keyword has a letter outside ASCII."""
    differing = set(got) ^ set(case.expected)
    texts = [case.given["message"]] + [
        keyword
        for row in case.given["playbooks"]
        if row["name"] in differing
        for keyword in row["keywords"]
    ]
    return any(character.isalpha() and not character.isascii() for character in "".join(texts))


def _parse(given: dict[str, Any]) -> dict[str, Any] | None:
    """Parse a playbook; ids belong to the journal."""
    playbook = parse_record(given)
    if playbook is None:
        return None
    return {"id": given["id"], "source": playbook.source, **_fields(playbook)}


def _fields(found: Playbook | SkillFile) -> dict[str, Any]:
    return {
        "name": found.name,
        "description": found.description,
        "instructions": found.instructions,
        "keywords": list(found.keywords),
        "priority": found.priority,
        "requiredTools": list(found.required_tools),
    }


def _scan(given: dict[str, Any]) -> list[dict[str, Any]]:
    """Scan a directory of skills; every invalid file must be reported."""
    with tempfile.TemporaryDirectory() as folder:
        for file, text in given["files"].items():
            path = Path(folder, file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        skills, problems = scan_skills([Path(folder)])
    read = [file for file in given["files"] if file.count("/") == 1 and file.endswith("/SKILL.md")]
    assert len(skills) + len(problems) == len(read), problems
    return [_shape(skill) for skill in skills]


def _shape(skill: SkillFile) -> dict[str, Any]:
    """Return a skill in the notation of the vectors, without its numeric id."""
    optional = {
        "triggerConfig": skill.trigger_config,
        "maxSteps": skill.max_steps,
        "executionPlan": list(skill.execution_plan),
    }
    present = {key: value for key, value in optional.items() if value}
    return {"source": "file", **_fields(skill), **present}


def _without_ids(expected: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows = [{key: value for key, value in row.items() if key != "id"} for row in expected]
    return sorted(rows, key=lambda row: str(row["name"]))


def _refuses_name(case: Case, got: list[dict[str, Any]]) -> bool:
    """Every missing skill has a name that agentskills.io does not allow."""
    expected = _without_ids(case.expected)
    return got == [row for row in expected if NAME.fullmatch(row["name"])]


def _names_by_folder(case: Case, got: list[dict[str, Any]]) -> bool:
    """Return whether the skills that the reference skipped have the names of their folders."""
    expected = _without_ids(case.expected)
    more = [row for row in got if row not in expected]
    return (
        bool(more)
        and [row for row in got if row in expected] == expected
        and all(
            f"name: {row['name']}\n" not in case.given["files"][f"{row['name']}/SKILL.md"]
            for row in more
        )
    )


def _refuses_metadata(case: Case, got: list[dict[str, Any]]) -> bool:
    """Every missing skill has metadata (`_scan` checks that it was reported)."""
    names = {row["name"] for row in got}
    missing = [row["name"] for row in case.expected if row["name"] not in names]
    return got == [row for row in _without_ids(case.expected) if row["name"] in names] and all(
        "metadata:" in case.given["files"][f"{name}/SKILL.md"] for name in missing
    )


def _takes_text(case: Case, got: list[dict[str, Any]]) -> bool:
    """Only lists differ, and the reference has empty ones."""
    lists = ("keywords", "requiredTools")
    expected = _without_ids(case.expected)
    emptied = [
        {**ours, **{key: [] for key in lists if theirs[key] == []}}
        for ours, theirs in zip(got, expected, strict=False)
    ]
    return len(got) == len(expected) and emptied == expected


AREAS = {
    "playbook_matching": Area(_match, rules={"letters-of-all-scripts": _beyond_ascii}),
    "playbook_parse": Area(_parse),
    "skill_md": Area(
        _scan,
        read=_without_ids,
        rules={
            "names-of-the-specification": _refuses_name,
            "names-of-folders": _names_by_folder,
            "metadata-of-wrong-form": _refuses_metadata,
            "lists-as-text": _takes_text,
        },
    ),
}
