"""The end of a daemon's log."""

import os
from pathlib import Path

MAX_BYTES = 512 * 1024  # that are read of the newest lines


def read_tail(path: Path) -> tuple[str, ...]:
    """Return the newest lines, of `MAX_BYTES` bytes at most; none if there is no log."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - MAX_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ()
    return tuple(lines[1:] if size > MAX_BYTES else lines)
