"""The end of a daemon's log."""

import os
from pathlib import Path

from pydantic import JsonValue

from orchestrator.extensions.page.daemon_side.page_protocol import LogLines
from orchestrator.files import run_off_loop

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


async def answer_log_tail(path: Path, params: JsonValue) -> LogLines:
    """Answer a request of the page for the end of the log."""
    del params
    return LogLines(lines=await run_off_loop(read_tail, path))
