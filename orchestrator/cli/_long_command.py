"""What commands that run for minutes share: their progress, their end, and a place for files."""

import os
import shutil
import signal
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

MEMORY = Path("/dev/shm")  # noqa: S108 - callers make private folders in it; syncing costs nothing
NEEDED = 1 << 30  # bytes; a home has a few megabytes, and is deleted after its history


def progress_bar() -> Progress:
    """Return a display on stderr of how many of its task's steps are done."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )


def end_by_sigterm() -> None:
    """Let SIGTERM end the command as Ctrl-C does, also where Ctrl-C is ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))


def memory_folder() -> Path | None:
    """Return the folder in memory if it has room and TMPDIR names no other."""
    if "TMPDIR" in os.environ:
        return None
    usable = os.access(MEMORY, os.W_OK | os.X_OK) and shutil.disk_usage(MEMORY).free >= NEEDED
    return MEMORY if usable else None
