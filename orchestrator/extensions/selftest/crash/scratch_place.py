"""The place for files of self-tests, which need not survive a reboot."""

import os
import shutil
from pathlib import Path

MEMORY = Path("/dev/shm")  # noqa: S108 - callers make private folders in it; syncing costs nothing
NEEDED = 1 << 30  # bytes; a home has a few megabytes, and is deleted after its history


def find_memory_folder() -> Path | None:
    """Return the folder in memory if it has room and TMPDIR names no other."""
    if "TMPDIR" in os.environ:
        return None
    usable = os.access(MEMORY, os.W_OK | os.X_OK) and shutil.disk_usage(MEMORY).free >= NEEDED
    return MEMORY if usable else None
