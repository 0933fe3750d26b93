"""The shared configuration in PostgreSQL: each push is a version."""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from orchestrator.journal.db.database import Database

MAX_VERSIONS = 10  # the newest ones, whose files are kept
FILES = "INSERT INTO config_file(version, name, executable, data) VALUES(?, ?, ?, ?)"


class PushedFile(NamedTuple):
    """A file; ``name`` is its path below a home, with slashes."""

    name: str
    executable: bool
    data: bytes


class PushedVersion(NamedTuple):
    """A version; ``at`` is in milliseconds since the epoch, ``host`` pushed it."""

    number: int
    digest: str
    at: int
    host: str


def store_version(
    db: Database, files: Sequence[PushedFile], host: str, now: int
) -> tuple[PushedVersion, bool]:
    """Store files as a new version, unless the newest one has the same.

    Return the newest version, and whether it is new. ``now`` is in milliseconds since the epoch.
    """
    db.execute("LOCK TABLE config_version IN EXCLUSIVE MODE")  # another push waits
    digest = _hash_files(files)
    last = find_newest_version(db)
    if last is not None and last.digest == digest:
        return last, False
    pushed = PushedVersion(1 if last is None else last.number + 1, digest, now, host)
    db.execute(
        "INSERT INTO config_version(number, digest, pushed_at, host) VALUES(?, ?, ?, ?)", pushed
    )
    db.executemany(FILES, [(pushed.number, *file) for file in files])
    db.execute("DELETE FROM config_file WHERE version <= ?", (pushed.number - MAX_VERSIONS,))
    return pushed, True


def find_newest_version(db: Database) -> PushedVersion | None:
    """Return the newest version; None if nothing was pushed."""
    row = db.execute(
        "SELECT number, digest, pushed_at, host FROM config_version ORDER BY number DESC LIMIT 1"
    ).fetchone()
    return None if row is None else PushedVersion(*row)


def find_version(db: Database, number: int) -> PushedVersion | None:
    """Return a version; None if it does not exist."""
    row = db.execute(
        "SELECT number, digest, pushed_at, host FROM config_version WHERE number = ?", (number,)
    ).fetchone()
    return None if row is None else PushedVersion(*row)


def list_version_files(db: Database, number: int) -> tuple[PushedFile, ...]:
    """Return the files of a version, sorted by name; empty if no longer stored."""
    rows = db.execute(
        "SELECT name, executable, data FROM config_file WHERE version = ? ORDER BY name", (number,)
    )
    return tuple(PushedFile(name, bool(executable), data) for name, executable, data in rows)


def load_newer_files(
    db: Database, number: int, digest: str
) -> tuple[PushedVersion | None, tuple[PushedFile, ...]]:
    """Return the newest version, with its files unless it has this number and digest."""
    last = find_newest_version(db)
    if last is None or (last.number, last.digest) == (number, digest):
        return last, ()
    return last, list_version_files(db, last.number)


def _hash_files(files: Sequence[PushedFile]) -> str:
    whole = hashlib.sha256()
    for name, executable, data in sorted(files):
        whole.update(f"{len(name)} {name} {executable:d} {len(data)} ".encode())
        whole.update(data)
    return whole.hexdigest()
