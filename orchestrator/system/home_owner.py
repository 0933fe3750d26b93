"""Find out whether a home is this user's: the daemon and its commands run as its owner."""

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


def barrier(home: Path) -> Path | None:
    """Return the folder that this user may not look into on the way to a home, if there is one."""
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


def foreign(home: Path) -> list[Path]:
    """Return the home itself if it is another user's, or else what in it the daemon writes."""
    own = os.geteuid()
    if owner_id(home) not in (None, own):
        return [home]
    written = [home / name for name in WRITTEN]
    return [path for path in written if owner_id(path) not in (None, own)]


def owner_id(path: Path) -> int | None:
    """Return the id of the user whom a file belongs to; None if there is no such file."""
    with suppress(OSError):
        return path.lstat().st_uid
    return None


def user_name(uid: int) -> str:
    """Return a user's name, or ``#`` and the id of one without a name, as sudo takes it."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"#{uid}"
