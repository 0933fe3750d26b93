"""What a model is told beside a command's output when the jail refused what a script wanted."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

REFUSED = re.compile(r".*permission denied.*", re.IGNORECASE)
QUOTES = "'\"`\u2018\u2019"
WHOLE_PATH = re.compile(rf"(?<![\w.~/-])/[^\s{QUOTES}()<>|;:,]+")
CLOSED = tuple(Path(path) for path in ("/tmp", "/var/tmp", "/dev/shm"))  # noqa: S108 - not used
TEMPORARY = (
    "[commands have no /tmp and no /dev/shm: use $TMPDIR, or change the path in a copy of the"
    " script in the workspace]"
)
SKILL = (
    "[the folders of skills are read-only: write to the workspace, or copy the skill there; begin"
    " a script that is not executable with bash or python3]"
)
LOCK = "[processes cannot share locks here: use threads]"  # of Python's multiprocessing


def advice(output: str, workspace: Path, skills: Sequence[Path]) -> list[str]:
    """Return one line for each kind of refusal that an output tells of."""
    found = [_about(path, workspace, skills) for path in _refused(output)]
    locks = [LOCK] if "SemLock" in output and REFUSED.search(output) else []
    return list(dict.fromkeys([line for line in found if line] + locks))


def _refused(output: str) -> Iterator[Path]:
    for line in REFUSED.findall(output):
        for path in WHOLE_PATH.findall(line):
            yield Path(os.path.realpath(path))


def _about(path: Path, workspace: Path, skills: Sequence[Path]) -> str:
    if any(path.is_relative_to(skill) for skill in skills):
        return SKILL
    closed = any(path.is_relative_to(folder) for folder in CLOSED)
    return TEMPORARY if closed and not path.is_relative_to(workspace) else ""
