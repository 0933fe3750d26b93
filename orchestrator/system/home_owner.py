"""Find out whether a home belongs to this user: the daemon and commands run as its owner."""

import os
import pwd
import stat
from contextlib import suppress
from pathlib import Path

# What the daemon writes into a home; the rest are files that people write, in which case reading
# is enough.
WRITTEN = (
    "journal.db",
    "journal.db-wal",
    "journal.db-shm",
    "journal.db-job",
    "lock",
    "daemon.log",
    "run",
    "agent-prompts",
    "servers",
    "workspaces",
    "http-token",
    "agents.last-good.json",
    "prompts.last-good.json",
)


def find_barrier(home: Path) -> Path | None:
    """Return the folder on the way to a home that this user cannot enter; None if there is none."""
    for folder in (*reversed(home.parents), home):
        try:
            if not stat.S_ISDIR(folder.stat().st_mode):
                return None
        except OSError:
            return None  # a folder above is open, so this one is missing
        needed = os.R_OK | os.X_OK if folder == home else os.X_OK
        if not os.access(folder, needed, effective_ids=True):
            return folder
    return None


def list_foreign_files(home: Path) -> list[Path]:
    """Return the home if it is another user's, or the daemon's files that are."""
    own = os.geteuid()
    if find_owner_id(home) not in (None, own):
        return [home]
    written = [home / name for name in WRITTEN]
    return [path for path in written if find_owner_id(path) not in (None, own)]


def find_owner_id(path: Path) -> int | None:
    """Return the id of a file's owner; None if the file does not exist."""
    with suppress(OSError):
        return path.lstat().st_uid
    return None


def find_user_name(uid: int) -> str:
    """Return a user's name, or ``#`` and the id, as sudo accepts."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"#{uid}"
