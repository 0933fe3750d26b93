"""Notice edits of files, whatever people put in their place.

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

from orchestrator.errors import only_cause
from orchestrator.files import OffLoop

DEBOUNCE = 400  # longest delay of a reported edit, in milliseconds
STEP = 100  # milliseconds without a change that end an edit: editors write a file in several steps
LONGEST_PAUSE = 30.0  # seconds before a watch that failed is tried again
FileWatch = Callable[..., AsyncGenerator[set[tuple[Change, str]]]]  # has awatch's parameters
log = structlog.get_logger()


class Watch(NamedTuple):
    """Files, and folders of files; ``places`` are what is watched for their edits."""

    files: frozenset[Path]
    folders: frozenset[Path]
    places: frozenset[Path]

    @classmethod
    def of(cls, files: Iterable[Path], folders: Iterable[Path]) -> "Watch":
        """Find the places to watch; it asks the file system."""
        # Either end of a symbolic link may change.
        files = frozenset(end for file in files for end in (file, Path(os.path.realpath(file))))
        folders = frozenset(folders)
        return cls(files, folders, frozenset((*map(_file_place, files), *map(_place, folders))))

    def concerns(self, path: Path) -> bool:
        """Return whether a change of this path is an edit."""
        return not {path, path.parent}.isdisjoint(self.folders) or path in self.files


async def follow(
    find: Callable[[], Watch],
    begun: Callable[[], object],
    edited: Callable[[], Awaitable[object]],
    stopped: anyio.Event,
    off_loop: OffLoop,
    watch_paths: FileWatch,
) -> None:
    """Call ``edited`` after each edit, until ``stopped`` is set.

    After each edit the watch begins anew, because another file may stand in a place. ``begun`` is
    called then: what it starts soon runs when edits are noticed again.
    """
    pause = STEP / 1000  # at first short: an editor may be replacing the file right now
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
                    if any(watch.concerns(Path(name)) for _, name in changes):
                        break
                else:  # the daemon stops
                    return
        except (OSError, ExceptionGroup) as error:
            cause = only_cause(error)
            # A place is gone, or the kernel's limit of watches is reached; or a name is not UTF-8.
            if not isinstance(cause, OSError | RuntimeError):
                raise
            if pause > 1:
                advice = "run 'orchestrator reload' after an edit"
                log.error("edits_not_noticed", problem=f"{cause}; {advice}", seconds=pause)
            await anyio.sleep(pause)
            pause = min(pause * 4, LONGEST_PAUSE)
        else:
            await edited()


def _file_place(file: Path) -> Path:
    """Return the path to watch for a file's edits.

    It is the file itself where possible: its folder may hold the journal, and the kernel would
    report each of the journal's writes, dozens for a message.
    """
    return file if file.is_file() and not file.is_symlink() else file.parent


def _place(folder: Path) -> Path:
    return folder if os.path.lexists(folder) else folder.parent
