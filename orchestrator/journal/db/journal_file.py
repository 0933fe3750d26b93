"""Check the journal's file: refuse one that no daemon can have left there.

SQLite takes an empty file for a new database and drops a write-ahead log that has none. Either way
a journal would be lost silently. A missing journal is created; a marker file exists meanwhile, so
that a crash in between is not an error.
"""

import os
import stat
from pathlib import Path

from orchestrator.errors import JournalError

MAGIC = b"SQLite format 3\0"
HEADER = 100  # bytes, of which SQLite documents each


def build_wal_path(path: Path) -> Path:
    """Return the write-ahead log of a journal, which a clean end removes."""
    return path.with_name(f"{path.name}-wal")


def build_new_mark_path(path: Path) -> Path:
    return path.with_name(f"{path.name}-new")


def build_moved_mark_path(path: Path) -> Path:
    """Return the file that names the server to which a journal was moved."""
    return path.with_name(f"{path.name}-moved")


def build_failed_mark_path(path: Path) -> Path:
    """Return the file that says why a journal failed, until all of it has been checked."""
    return path.with_name(f"{path.name}-failed")


def was_left_open(path: Path) -> bool:
    """Return whether the last daemon did not close a journal, or closed one that had failed."""
    return build_wal_path(path).exists() or build_failed_mark_path(path).exists()


def mark_file_failed(path: Path, failure: object) -> None:
    build_failed_mark_path(path).write_text(f"{failure}\n", "utf-8")


def read_failed_mark(path: Path) -> str | None:
    try:
        return build_failed_mark_path(path).read_text("utf-8").strip()
    except OSError:
        return None


def prepare_file(path: Path) -> bool:
    """Create the file if it is missing, readable only by its owner; return whether it is new.

    Raises:
        JournalError: the existing file is not a whole journal; it is not changed.
        OSError: the file cannot be made or read.
    """
    if (mark := build_moved_mark_path(path)).exists():
        server, *_ = mark.read_text("utf-8").splitlines() or ["a server"]
        raise JournalError(
            f"{path}: the journal was moved to {server}; set"
            " ORCHESTRATOR_STORE to it, or move it back: orchestrator migrate --back"
        )
    if path.is_symlink() and not path.exists():
        raise make_open_error(path, "the link leads nowhere; is the disk mounted?")
    if not path.exists():
        if build_wal_path(path).exists():
            raise make_open_error(
                path, f"it is missing, but {build_wal_path(path).name} holds a part of it"
            )
        build_new_mark_path(path).touch(mode=0o600)
        _sync_folder(path.parent)
        path.touch(mode=0o600)
    if not stat.S_ISREG(path.stat().st_mode):
        raise make_open_error(path, "it is not a regular file")
    path.chmod(0o600)
    fresh = build_new_mark_path(path).exists()
    damage = _find_damage(path)
    if damage is not None and not fresh:
        raise make_open_error(path, damage)
    return fresh


def mark_file_complete(path: Path) -> None:
    """Record that the file is now a whole journal."""
    build_new_mark_path(path).unlink(missing_ok=True)


def make_open_error(path: Path, problem: object) -> JournalError:
    names = f"{path.name}, {path.name}-wal and {path.name}-shm"
    return JournalError(
        f"{path}: cannot open the journal ({problem}); restore a backup or move the file away"
        f" ({names}) to start with an empty journal"
    )


def _find_damage(path: Path) -> str | None:
    """Return the damage that the header reveals; None if the file is complete."""
    with path.open("rb") as file:
        header = file.read(HEADER)
        size = os.fstat(file.fileno()).st_size
    if not size:
        return "it is empty; a crash or a full disk may have cut it"
    if len(header) < HEADER or not header.startswith(MAGIC):
        return "it is not an SQLite database"
    if build_wal_path(path).exists():  # which may hold pages that are not in the file yet
        return None
    page = int.from_bytes(header[16:18]) or 1
    page = 65536 if page == 1 else page
    whole = page * int.from_bytes(header[28:32])
    return None if size >= whole and not size % page else f"it is cut: {size} bytes of {whole}"


def _sync_folder(folder: Path) -> None:
    """Make new file names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
