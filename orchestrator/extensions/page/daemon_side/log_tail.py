"""The end of a daemon's log."""

import os
from pathlib import Path

TAIL = 512 * 1024  # bytes that are read of the newest lines


def read_tail(path: Path) -> tuple[str, ...]:
    """Return the newest lines, of `TAIL` bytes at most; none if there is no log."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ()
    return tuple(lines[1:] if size > TAIL else lines)
