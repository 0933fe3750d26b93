"""The skills of an agent, for its prompt."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from thinker.formats.own_files import OwnFiles
from thinker.formats.skill_file import SkillFile, SkillProblem, scan_skills
from thinker.protocol.chosen_folder import admits_name


class SkillCatalog:
    """The skills in directories whose names match one of the globs.

    ``playbooks`` have keywords and join the prompt when a message matches. ``listed`` skills have
    none and are named in every prompt. ``every`` has all of them, also the silent ones, which are
    in no prompt. ``problems`` say what was left out and why.
    """

    def __init__(self, directories: Sequence[Path], globs: Sequence[str] = ("*",)) -> None:
        self._directories = tuple(directories)
        self._globs = tuple(globs)
        self.playbooks: tuple[SkillFile, ...] = ()
        self.listed: tuple[SkillFile, ...] = ()
        self.every: tuple[SkillFile, ...] = ()
        self.problems: tuple[str, ...] = ()

    def read(self, files: OwnFiles) -> None:
        """Read the skills of each directory in which the last check found a change."""
        found = [
            _scan_directory(directory, files.list_seen_below(directory), self._globs)
            for directory in self._directories
        ]
        named = {skill.name: skill for skills, _ in found for skill in skills}  # later ones replace
        self.problems = tuple(str(problem) for _, problems in found for problem in problems)
        self.every = tuple(named[name] for name in sorted(named) if admits_name(self._globs, name))
        shown = [skill for skill in self.every if not skill.silent]
        self.playbooks = tuple(skill for skill in shown if skill.keywords)
        self.listed = tuple(skill for skill in shown if not skill.keywords)


@lru_cache(maxsize=4)  # an agent has three directories
def _scan_directory(
    directory: Path, seen: frozenset[object], globs: tuple[str, ...]
) -> tuple[tuple[SkillFile, ...], tuple[SkillProblem, ...]]:
    """Return `scan_skills` of a directory; cached, so that workers inherit the zygote's result."""
    del seen  # part of the cache key
    return scan_skills((directory,), globs)
