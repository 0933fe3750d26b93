"""A folder of which a worker may read some parts."""

import os
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

EVERY_SKILL = "*"


class ChosenFolder(NamedTuple):
    """A folder, and the globs of the names in it that may be read."""

    path: Path
    globs: tuple[str, ...]

    def list_admitted(self) -> list[str]:
        """List the paths in the folder that may be read, as they are now."""
        try:
            names = sorted(os.listdir(self.path))  # noqa: PTH208 - names are enough
        except OSError:  # no folder
            return []
        return [f"{self.path}/{name}" for name in names if admits_name(self.globs, name)]


def admits_name(globs: tuple[str, ...], name: str) -> bool:
    """Return whether one of the globs matches a name."""
    return any(fnmatchcase(name, glob) for glob in globs)
