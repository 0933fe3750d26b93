"""A worker's own files and folders: the paths to grant, and whether they have moved."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from thinker.protocol.chosen_folder import ChosenFolder

SKILL = "SKILL.md"
Place = tuple[str, int, int]  # path, device, inode


class OwnPaths:
    """The paths of one worker, and the targets of links in its folders.

    A right belongs to the file or folder at a path when it is granted. Another one that replaces it
    has no rights; `has_moved` notices that. A link grants nothing of ``home`` that is not the
    worker's own.
    """

    def __init__(
        self, paths: Sequence[Path], home: Path, chosen: Sequence[ChosenFolder] = ()
    ) -> None:
        self._single = tuple(map(str, paths))
        self._chosen = tuple(chosen)
        self._paths: tuple[str, ...] = ()
        self._home = os.path.realpath(home)
        self._remembered: set[Place] | None = None

    def list_paths(self) -> Iterator[str]:
        """Yield the paths, what is chosen of folders now, and the targets of links in them."""
        chosen = [path for folder in self._chosen for path in folder.list_admitted()]
        followed = [path for path in chosen if not os.path.islink(path) or self._may_follow(path)]  # noqa: PTH114 - faster
        self._paths = (*self._single, *followed)
        for path in self._paths:
            yield path
            yield from filter(self._may_follow, _list_links(path))

    def list_folders(self) -> Iterator[str]:
        """Yield the folders of which only the names may be listed."""
        return (str(folder.path) for folder in self._chosen)

    def _may_follow(self, link: str) -> bool:
        real = os.path.realpath(link)
        outside = os.path.commonpath((real, self._home)) not in (real, self._home)
        return outside or any(Path(real).is_relative_to(path) for path in self._paths)

    def remember_places(self) -> None:
        """Remember the files and folders at the paths now."""
        self._remembered = self._read_places()

    def has_moved(self) -> bool:
        """Return whether a path leads to a new file or folder; a missing one does not count."""
        return self._remembered is not None and not self._read_places() <= self._remembered

    def _read_places(self) -> set[Place]:
        return {place for path in self.list_paths() if (place := _read_place(path)) is not None}


def _list_links(folder: str) -> Iterator[str]:
    """Yield the links in a folder, and the skill files in its folders that are links."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_symlink():
                    yield entry.path
                elif entry.is_dir() and os.path.islink(f"{entry.path}/{SKILL}"):  # noqa: PTH114 - faster
                    yield f"{entry.path}/{SKILL}"
    except OSError:  # no folder
        return


def _read_place(path: str) -> Place | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - takes half the time of Path.stat
    except OSError:
        return None
    return path, found.st_dev, found.st_ino
