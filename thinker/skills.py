"""The skills of an agent, re-read when a file changed, so that an edit is live at the next turn."""

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from thinker.protocol.skillfile import FILE_NAME, SkillFile, scan

Identity = tuple[int, int, int, int]


def identity(path: str | Path) -> Identity | None:
    """What changes when a file is edited or replaced: device, inode, time of change, size.

    None when there is no such file or it cannot be reached.
    """
    try:
        found = os.stat(path)  # noqa: PTH116 - half the time of Path.stat, and it takes both
    except (OSError, ValueError):  # ValueError: a name with a NUL byte
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


class SkillCatalog:
    """The skills below some directories whose names match one of the globs.

    ``playbooks`` have keywords and enter the prompt when a message matches; ``listed`` have none
    and are named in every prompt; ``problems`` says what was left out and why.
    """

    def __init__(self, directories: Sequence[Path], globs: Sequence[str] = ("*",)) -> None:
        self._directories = tuple(directories)
        self._globs = tuple(globs)
        self._seen: tuple[tuple[str, Identity | None], ...] | None = None
        self.playbooks: tuple[SkillFile, ...] = ()
        self.listed: tuple[SkillFile, ...] = ()
        self.problems: tuple[str, ...] = ()

    def refresh(self) -> bool:
        """Read the files again if any changed, came or went; True when it did so."""
        # Looked at before reading: an edit in between shows at the next refresh.
        seen = tuple(glance for directory in self._directories for glance in _glances(directory))
        if seen == self._seen:
            return False
        skills, self.problems = scan(self._directories)
        wanted = [
            skill for skill in skills if any(fnmatchcase(skill.name, glob) for glob in self._globs)
        ]
        self.playbooks = tuple(skill for skill in wanted if skill.keywords)
        self.listed = tuple(skill for skill in wanted if not skill.keywords)
        self._seen = seen
        return True


def _glances(directory: Path) -> list[tuple[str, Identity | None]]:
    """The identities of a directory and the files of its skills; at every turn, so without Path."""
    found = [(str(directory), identity(directory))]
    if found[0][1] is None:
        return found
    try:
        with os.scandir(directory) as entries:
            paths = sorted(f"{entry.path}/{FILE_NAME}" for entry in entries)
    except OSError:  # reported by scan
        return found
    return found + [(path, seen) for path in paths if (seen := identity(path)) is not None]
