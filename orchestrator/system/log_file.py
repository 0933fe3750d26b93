"""The log of a home: a file of limited size, and one older file beside it.

One process writes. What cannot be written is lost.
"""

import os
from collections.abc import Callable
from pathlib import Path

from thinker.formats import regular_file
from thinker.formats.regular_file import FileError

LIMIT = 8 * regular_file.MIB  # bytes of each of the two files
TAIL = 512 * 1024  # bytes that are read of the newest lines
FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW


def older(path: Path) -> Path:
    """Return the file that holds the lines from before the last rotation."""
    return path.with_name(f"{path.name}.1")


def tail(path: Path) -> tuple[str, ...]:
    """Return the newest lines, of `TAIL` bytes at most; none if there is no log."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ()
    return tuple(lines[1:] if size > TAIL else lines)


class LogFile:
    """Appends to a log, readable by its owner alone.

    ``failed`` is called with the reason when lines begin to be lost.
    """

    def __init__(self, path: Path, failed: Callable[[str], None], limit: int = LIMIT) -> None:
        self._path = path
        self._tell = failed
        self._limit = limit
        self._fd: int | None = None
        self._size = 0
        self._failed = False

    def write(self, lines: bytes) -> None:
        try:
            os.write(self._opened(len(lines)), lines)
        except (OSError, FileError) as error:
            self.close()
            if not self._failed:
                self._failed = True
                reason = error.strerror if isinstance(error, OSError) else error
                self._tell(f"{self._path}: {reason}; lines are lost")
        else:
            self._size += len(lines)
            self._failed = False

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _opened(self, more: int) -> int:
        """Return the descriptor of a file with room for ``more`` bytes."""
        if self._fd is not None and (
            self._size + more > self._limit or not os.fstat(self._fd).st_nlink  # it was deleted
        ):
            self.close()
        if self._fd is None:
            self._fd = self._open()
            if self._size and self._size + more > self._limit:
                self.close()
                self._path.replace(older(self._path))
                self._fd = self._open()
        return self._fd

    def _open(self) -> int:
        fd = regular_file.open_regular(self._path, FLAGS)
        os.fchmod(fd, 0o600)
        self._size = os.fstat(fd).st_size
        return fd
