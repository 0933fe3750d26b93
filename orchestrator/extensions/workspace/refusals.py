"""Advice that a model gets with a command's output when the jail refused what a script wanted."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from orchestrator.extensions.workspace.workspace_folders import SKILLS

REFUSED = re.compile(r".*permission denied.*", re.IGNORECASE)
SHELL = re.compile(r"^/\S+: line \d+: ")  # that reports the refusal
QUOTES = "'\"`\u2018\u2019"
WHOLE_PATH = re.compile(rf"(?<![\w.~/-])/[^\s{QUOTES}()<>|;:,]+")
CLOSED = tuple(Path(path) for path in ("/tmp", "/var/tmp", "/dev/shm"))  # noqa: S108 - not used
LINKS = "/".join(SKILLS)
TEMPORARY = (
    "[commands have no /tmp and no /dev/shm: use $TMPDIR, or change the path in a copy of the"
    " script in the workspace]"
)
SKILL = (
    "[the folders of skills are read-only: write to the workspace, or copy the skill there; begin"
    " a script that is not executable with bash or python3]"
)
LOCK = "[processes cannot share locks here: use threads]"  # of Python's multiprocessing


def list_advice(output: str, command: str, workspace: Path, skills: Sequence[Path]) -> list[str]:
    """Return one line for each kind of refusal that ``output`` shows.

    ``command`` has the folder that it ran in as well: a refused path may be relative to a skill.
    """
    lines = [SHELL.sub("", line) for line in REFUSED.findall(output)]
    found = [
        _choose_advice(Path(os.path.realpath(path)), workspace, skills)
        for line in lines
        for path in WHOLE_PATH.findall(line)
    ]
    named = any(text in command for text in (LINKS, *map(str, skills)))
    if lines and "SemLock" in output:
        found.append(LOCK)
    elif named and not all(map(WHOLE_PATH.search, lines)):
        found.append(SKILL)
    return list(dict.fromkeys(filter(None, found)))


def _choose_advice(path: Path, workspace: Path, skills: Sequence[Path]) -> str:
    if any(path.is_relative_to(skill) for skill in skills):
        return SKILL
    closed = any(path.is_relative_to(folder) for folder in CLOSED)
    return TEMPORARY if closed and not path.is_relative_to(workspace) else ""
