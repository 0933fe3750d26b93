"""What stands in the journal's place: refuse what no daemon has left there.

SQLite takes an empty file for a new database and drops a write-ahead log that has none. Both would
be a journal that was lost without a word. A journal that is missing altogether is made anew; a mark
beside it stands while it is made, so that a crash in between is no fault.
"""

import os
import stat
from pathlib import Path

from orchestrator.errors import JournalError

MAGIC = b"SQLite format 3\0"
HEADER = 100  # bytes, of which SQLite documents each


def wal_of(path: Path) -> Path:
    """Return the write-ahead log of a journal, which a clean end removes."""
    return path.with_name(f"{path.name}-wal")


def mark_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-new")


def moved_mark(path: Path) -> Path:
    """Return the file that says where a journal was moved to."""
    return path.with_name(f"{path.name}-moved")


def prepare(path: Path) -> bool:
    """Make the file if it is missing, readable by its owner alone; return whether it is new.

    Raises:
        JournalError: what is there is not the whole file of a journal; it is left as it is.
        OSError: the file cannot be made or read.
    """
    if (mark := moved_mark(path)).exists():
        server, *_ = mark.read_text("utf-8").splitlines() or ["a server"]
        raise JournalError(
            f"{path}: the journal was moved to {server}; set"
            " ORCHESTRATOR_STORE to it, or move it back: orchestrator migrate --back"
        )
    if path.is_symlink() and not path.exists():
        raise cannot_open(path, "the link leads nowhere; is the disk mounted?")
    if not path.exists():
        if wal_of(path).exists():
            raise cannot_open(path, f"it is missing, but {wal_of(path).name} holds a part of it")
        mark_of(path).touch(mode=0o600)
        _sync(path.parent)
        path.touch(mode=0o600)
    if not stat.S_ISREG(path.stat().st_mode):
        raise cannot_open(path, "it is not a regular file")
    path.chmod(0o600)
    fresh = mark_of(path).exists()
    damage = _damage(path)
    if damage is not None and not fresh:
        raise cannot_open(path, damage)
    return fresh


def made(path: Path) -> None:
    """Record that the file is a whole journal from now on."""
    mark_of(path).unlink(missing_ok=True)


def cannot_open(path: Path, problem: object) -> JournalError:
    names = f"{path.name}, {path.name}-wal and {path.name}-shm"
    return JournalError(
        f"{path}: cannot open the journal ({problem}); restore a backup or move the file away"
        f" ({names}) to start with an empty journal"
    )


def _damage(path: Path) -> str | None:
    """Return what the header tells of an incomplete file; None if it is complete."""
    with path.open("rb") as file:
        header = file.read(HEADER)
        size = os.fstat(file.fileno()).st_size
    if not size:
        return "it is empty; a crash or a full disk may have cut it"
    if len(header) < HEADER or not header.startswith(MAGIC):
        return "it is no SQLite database"
    if wal_of(path).exists():  # which may hold pages that are not in the file yet
        return None
    page = int.from_bytes(header[16:18]) or 1
    page = 65536 if page == 1 else page
    whole = page * int.from_bytes(header[28:32])
    return None if size >= whole and not size % page else f"it is cut: {size} bytes of {whole}"


def _sync(folder: Path) -> None:
    """Make new names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
