"""Advice beside the output of commands that the jail refused something."""

from pathlib import Path

import pytest

from orchestrator.extensions.workspace.refusals import LOCK, SKILL, TEMPORARY, list_advice


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("PermissionError: [Errno 13] Permission denied: '/tmp/x.json'", [TEMPORARY]),
        ("Error: EACCES: permission denied, open '/tmp/z'", [TEMPORARY]),
        (
            "mktemp: failed to create file via template \u2018/tmp/aX\u2019: Permission denied",
            [TEMPORARY],
        ),
        ("/bin/bash: line 1: /dev/shm/x: Permission denied", [TEMPORARY]),
        ("bash: {skills}/tea/scripts/x.sh: Permission denied", [SKILL]),
        ("mkdir: cannot create directory '{ws}/link/out': Permission denied", [SKILL]),
        ("{skills}/tea/a: Permission denied\n/tmp/b: Permission denied", [SKILL, TEMPORARY]),
        ("sh: /tmp/a: Permission denied\n/tmp/b: Permission denied", [TEMPORARY]),
        ("SemLock(0)\nPermissionError: [Errno 13] Permission denied", [LOCK]),
        ("cat: /etc/shadow: Permission denied", []),
        ("{ws}/tmp/x: Permission denied", []),
        ("wrote /tmp/x", []),
    ],
)
def test_each_kind_of_refusal_is_explained_once(
    tmp_path: Path, output: str, told: list[str]
) -> None:
    """By the path that the line names, also through a link; other lines are left alone."""
    workspace, skill = tmp_path / "ws", tmp_path / "skills" / "tea"
    workspace.mkdir()
    skill.mkdir(parents=True)
    (workspace / "link").symlink_to(skill)
    text = output.format(skills=tmp_path / "skills", ws=workspace)
    assert list_advice(text, "cd; python3 x.py", workspace, [skill]) == told


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("cd {skill} && python3 scripts/x.py out.txt", [SKILL]),
        ("cd ~/.claude/skills/tea; echo > out.txt", [SKILL]),
        ("python3 x.py out.txt", []),
    ],
)
def test_relative_path_is_explained_where_a_command_names_a_skill(
    tmp_path: Path, command: str, told: list[str]
) -> None:
    """It may be one of the skill's folder; elsewhere the refusal has another reason."""
    skill = tmp_path / "tea"
    command = command.format(skill=skill)
    for output in (
        "PermissionError: [Errno 13] Permission denied: 'out.txt'",
        "/bin/bash: line 1: out.txt: Permission denied",
    ):
        assert list_advice(output, command, tmp_path / "ws", [skill]) == told
    assert (
        list_advice("cat: /etc/shadow: Permission denied", command, tmp_path / "ws", [skill]) == []
    )
