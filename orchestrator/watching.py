"""Report edits of files, by whatever method they are replaced.

Only single files and folders are watched, never a whole tree: a link in it may lead anywhere.
"""

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import aclosing
from pathlib import Path
from typing import NamedTuple

import anyio
import structlog
from watchfiles import Change

from orchestrator.errors import unwrap_cause
from orchestrator.files import OffLoop

DEBOUNCE = 400  # longest delay of a reported edit, in milliseconds
STEP = 100  # milliseconds without a change that end an edit: editors write a file in several steps
MAX_PAUSE = 30.0  # seconds before a watch that failed is tried again
FileWatch = Callable[..., AsyncGenerator[set[tuple[Change, str]]]]  # has awatch's parameters
log = structlog.get_logger()


class Watch(NamedTuple):
    """Files and folders of files; ``places`` are the paths to watch for their edits."""

    files: frozenset[Path]
    folders: frozenset[Path]
    places: frozenset[Path]

    @classmethod
    def from_paths(cls, files: Iterable[Path], folders: Iterable[Path]) -> "Watch":
        """Find the places to watch, by asking the file system."""
        # Either end of a symbolic link may change.
        files = frozenset(end for file in files for end in (file, Path(os.path.realpath(file))))
        folders = frozenset(folders)
        return cls(
            files,
            folders,
            frozenset((*map(_find_file_place, files), *map(_find_folder_place, folders))),
        )

    def is_edit(self, path: Path) -> bool:
        """Return whether a change of this path counts as an edit."""
        return not {path, path.parent}.isdisjoint(self.folders) or path in self.files


async def follow_edits(
    find: Callable[[], Watch],
    begun: Callable[[], object],
    edited: Callable[[], Awaitable[object]],
    stopped: anyio.Event,
    off_loop: OffLoop,
    watch_paths: FileWatch,
) -> None:
    """Call ``edited`` after each edit until ``stopped`` is set.

    After each edit the watch is renewed, because another file may have taken a place. ``begun`` is
    called then; work that it starts soon runs while edits are noticed again.
    """
    pause = STEP / 1000  # short at first: an editor may be replacing the file right now
    while True:
        try:
            watch = await off_loop(find)
            begun()
            seen = watch_paths(
                *watch.places, debounce=DEBOUNCE, step=STEP, recursive=False, stop_event=stopped
            )
            async with aclosing(seen):
                async for changes in seen:
                    pause = STEP / 1000
                    if any(watch.is_edit(Path(name)) for _, name in changes):
                        break
                else:  # the daemon stops
                    return
        except (OSError, ExceptionGroup) as error:
            cause = unwrap_cause(error)
            # A place is gone, or the kernel's limit of watches is reached; or a name is not UTF-8.
            if not isinstance(cause, OSError | RuntimeError):
                raise
            if pause > 1:
                advice = "run 'orchestrator reload' after an edit"
                log.error("edits_not_noticed", problem=f"{cause}; {advice}", seconds=pause)
            await anyio.sleep(pause)
            pause = min(pause * 4, MAX_PAUSE)
        else:
            await edited()


def _find_file_place(file: Path) -> Path:
    """Return the path to watch for a file's edits.

    It is the file itself where possible: its folder may hold the journal, and the kernel would
    report each of the journal's writes, dozens for a message.
    """
    return file if file.is_file() and not file.is_symlink() else file.parent


def _find_folder_place(folder: Path) -> Path:
    return folder if os.path.lexists(folder) else folder.parent
