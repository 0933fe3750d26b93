"""The skills of an agent, read again when a file changes, so edits apply from the next turn."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

from thinker.formats.regular_file import FileError, Folder, Identity, identity
from thinker.formats.skill_file import FILE_NAME, SkillFile, SkillProblem, scan

FileStamps = tuple[tuple[str, Identity | None], ...]  # of a directory and its skill files, by path


class SkillCatalog:
    """The skills in directories whose names match one of the globs.

    ``playbooks`` have keywords and join the prompt when a message matches; ``listed`` have none and
    are named in every prompt; ``problems`` says what was left out and why.
    """

    def __init__(self, directories: Sequence[Path], globs: Sequence[str] = ("*",)) -> None:
        self._directories = tuple(directories)
        self._globs = tuple(globs)
        self._seen: tuple[FileStamps, ...] | None = None
        self.playbooks: tuple[SkillFile, ...] = ()
        self.listed: tuple[SkillFile, ...] = ()
        self.problems: tuple[str, ...] = ()

    def refresh(self) -> bool:
        """Read the files again if any changed; return whether it did."""
        # Taken before reading, so that an edit in between shows at the next refresh.
        seen = tuple(map(_stamps, self._directories))
        if seen == self._seen:
            return False
        found = [_scanned(*stamped) for stamped in zip(self._directories, seen, strict=True)]
        named = {skill.name: skill for skills, _ in found for skill in skills}  # later ones replace
        self.problems = tuple(str(problem) for _, problems in found for problem in problems)
        selected = [
            named[name]
            for name in sorted(named)
            if any(fnmatchcase(name, glob) for glob in self._globs)
        ]
        self.playbooks = tuple(skill for skill in selected if skill.keywords)
        self.listed = tuple(skill for skill in selected if not skill.keywords)
        self._seen = seen
        return True


@lru_cache(maxsize=4)  # an agent has three directories
def _scanned(
    directory: Path, seen: FileStamps
) -> tuple[tuple[SkillFile, ...], tuple[SkillProblem, ...]]:
    """Return what `scan` finds in a directory; cached, so workers inherit the zygote's result."""
    del seen  # part of the cache key
    return scan((directory,))


def _stamps(directory: Path) -> FileStamps:
    """Return the identities of a directory and its skill files, without the cost of Path."""
    itself = str(directory), identity(directory)
    if itself[1] is None:
        return (itself,)
    try:
        paths = [f"{directory}/{name}/{FILE_NAME}" for name in Folder(directory).names()]
    except FileError:  # reported by scan
        return (itself,)
    return itself, *((path, seen) for path in paths if (seen := identity(path)) is not None)
