"""The skills of an agent, re-read when a file changed, so that an edit is live at the next turn."""

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

from thinker.formats.skill_file import FILE_NAME, SkillFile, scan

Identity = tuple[int, ...]
Glances = tuple[tuple[str, Identity | None], ...]  # a directory and its skills, by their paths


def identity(path: str | Path) -> Identity | None:
    """What changes with a file: device, inode, times of writing and of any change, size.

    None when there is no such file or it cannot be reached.
    """
    try:
        found = os.stat(path)  # noqa: PTH116 - half the time of Path.stat, and it takes both
    except (OSError, ValueError):  # ValueError: a name with a NUL byte
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size


class SkillCatalog:
    """The skills below some directories whose names match one of the globs.

    ``playbooks`` have keywords and enter the prompt when a message matches; ``listed`` have none
    and are named in every prompt; ``problems`` says what was left out and why.
    """

    def __init__(self, directories: Sequence[Path], globs: Sequence[str] = ("*",)) -> None:
        self._directories = tuple(directories)
        self._globs = tuple(globs)
        self._seen: tuple[Glances, ...] | None = None
        self.playbooks: tuple[SkillFile, ...] = ()
        self.listed: tuple[SkillFile, ...] = ()
        self.problems: tuple[str, ...] = ()

    def refresh(self) -> bool:
        """Read the files again if any changed, came or went; True when it did so."""
        # Looked at before reading: an edit in between shows at the next refresh.
        seen = tuple(map(_glances, self._directories))
        if seen == self._seen:
            return False
        held = [_held(*looked) for looked in zip(self._directories, seen, strict=True)]
        named = {skill.name: skill for skills, _ in held for skill in skills}  # later ones replace
        self.problems = tuple(problem for _, problems in held for problem in problems)
        wanted = [
            named[name]
            for name in sorted(named)
            if any(fnmatchcase(name, glob) for glob in self._globs)
        ]
        self.playbooks = tuple(skill for skill in wanted if skill.keywords)
        self.listed = tuple(skill for skill in wanted if not skill.keywords)
        self._seen = seen
        return True


@lru_cache(maxsize=4)  # an agent has three directories
def _held(directory: Path, seen: Glances) -> tuple[tuple[SkillFile, ...], tuple[str, ...]]:
    """What `scan` says of a directory, once: a worker inherits what its zygote has read."""
    del seen  # the answer is another one when this is another one
    return scan((directory,))


def _glances(directory: Path) -> Glances:
    """The identities of a directory and the files of its skills; at every turn, so without Path."""
    own = str(directory), identity(directory)
    if own[1] is None:
        return (own,)
    try:
        with os.scandir(directory) as entries:
            paths = sorted(f"{entry.path}/{FILE_NAME}" for entry in entries)
    except OSError:  # reported by scan
        return (own,)
    return own, *((path, seen) for path in paths if (seen := identity(path)) is not None)
