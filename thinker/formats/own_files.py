"""The files of a worker, checked for changes once a turn."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from thinker.formats.regular_file import (
    MAX_ENTRIES,
    MAX_LISTED,
    SETTLED_NS,
    Identity,
    read_identity,
)

Stamps = dict[str, Identity | None]  # the file at each path


class OwnFiles:
    """Files and folders of one worker, with the links and skill files in the folders.

    ``seen`` stays the same object until one of them changes.
    """

    def __init__(self, paths: Iterable[Path], clock: Callable[[], int] = time.time_ns) -> None:
        self._paths = tuple(map(str, paths))
        self._clock = clock
        self.seen: Stamps = {}
        self._settled = False  # whether each further change of a folder will show in its times

    def detect_changes(self) -> bool:
        """Look for changes; return whether there are any since the last check."""
        if self._settled and _read_stamps(self.seen) == self.seen:
            return False
        # Before the folders are listed, so that no change is lost.
        seen = _read_stamps(self._paths)
        times = (found[3] for found in seen.values() if found is not None)
        self._settled = max(times, default=0) < self._clock() - SETTLED_NS
        seen |= _read_stamps(inner for path in self._paths for inner in _list_watched_paths(path))
        changed = seen != self.seen
        if changed:
            self.seen = seen
        return changed

    def list_seen_below(self, folder: Path) -> frozenset[tuple[str, Identity | None]]:
        """Return the entries that the last check found in a folder."""
        path = str(folder)
        return frozenset(one for one in self.seen.items() if f"{one[0]}/".startswith(f"{path}/"))


def _read_stamps(paths: Iterable[str]) -> Stamps:
    return {path: read_identity(path) for path in paths}


def _list_watched_paths(folder: str) -> Iterator[str]:
    """Yield the links in a folder, and the path of SKILL.md in each subfolder.

    That file need not exist.
    """
    try:
        with os.scandir(folder) as entries:
            listed = sorted(islice(entries, MAX_LISTED), key=lambda entry: entry.name)
            for entry in listed[:MAX_ENTRIES]:  # as `Folder.list_names`
                if entry.is_symlink():
                    yield entry.path
                if not entry.is_file(follow_symlinks=False):
                    yield f"{entry.path}/SKILL.md"
    except OSError:  # no folder
        return
