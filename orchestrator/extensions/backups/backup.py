"""Write a backup of a home, whether a daemon runs on it or not.

Where: is a backup written?
"""

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from orchestrator import __version__
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.backups.archive import ArchiveWriter, Manifest, require_written
from orchestrator.extensions.backups.home_contents import (
    BACKUPS,
    JOURNAL,
    SCRATCH,
    HomeEntry,
    list_home_entries,
)
from orchestrator.extensions.backups.online_copy import copy_journal
from orchestrator.settings import Settings


@dataclass(frozen=True)
class BackupReport:
    """A finished backup; ``outside`` are links that lead out of the home."""

    path: Path
    size: int
    manifest: Manifest
    outside: tuple[str, ...]


def write_backup(settings: Settings, path: Path, *, keys: bool) -> BackupReport:
    """Write a new file, read it back and compare it, and only then give it its name.

    Raises:
        OrchestratorError: the backup cannot be written or the home cannot be read; no file
        remains.
    """
    path, home = path.expanduser().absolute(), settings.home
    _check_paths(path, home)
    manifest = Manifest(__version__, datetime.now(UTC).isoformat(timespec="seconds"), keys=keys)
    outside = []
    with explain_os_errors(path.parent), make_scratch_folder(path.parent, SCRATCH) as scratch:
        fresh = scratch / path.name
        with fresh.open("xb") as file:
            writer = ArchiveWriter(file, manifest, scratch)
            if settings.store is None and os.path.lexists(home / JOURNAL):
                copy = scratch / JOURNAL
                manifest.schema = copy_journal(home / JOURNAL, copy)
                writer.add_entry(HomeEntry(JOURNAL, copy, copy.lstat()))
            for entry in list_home_entries(home, keys=keys):
                writer.add_entry(entry)
                if _leads_out(entry, home):
                    outside.append(entry.name)
            digest = writer.finish()
            os.fchmod(file.fileno(), stat.S_IRUSR | stat.S_IWUSR)
            file.flush()
            os.fsync(file.fileno())
        require_written(fresh, digest)
        _give_name(fresh, path)
        sync_folder(path.parent)
    return BackupReport(path, path.stat().st_size, manifest, tuple(outside))


def _check_paths(path: Path, home: Path) -> None:
    if not home.is_dir():
        raise OrchestratorError(f"{home}: home not found; name one with --home")
    if path.is_dir():
        raise OrchestratorError(f"{path} is a folder; name a new file in it")
    if os.path.lexists(path):
        raise OrchestratorError(f"{path} exists; choose another name or remove it")
    if not path.parent.is_dir():
        raise OrchestratorError(f"{path.parent}: folder not found; create it first")
    inside = path.parent.resolve().is_relative_to(home.resolve())
    if inside and path.parent.resolve() != home.resolve() / BACKUPS:
        raise OrchestratorError(f"{path} is inside of the home; choose a folder outside")


def _leads_out(entry: HomeEntry, home: Path) -> bool:
    if not stat.S_ISLNK(entry.facts.st_mode):
        return False
    return not entry.path.resolve().is_relative_to(home.resolve())


def _give_name(fresh: Path, path: Path) -> None:
    """Move a file to a name that must be free; some file systems have no hard links."""
    try:
        path.hardlink_to(fresh)
    except FileExistsError as error:
        raise OrchestratorError(f"{path} exists; choose another name or remove it") from error
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
            raise
        fresh.rename(path)


@contextmanager
def make_scratch_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Make a private scratch folder, and remove it with its contents at the end."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def explain_os_errors(target: Path) -> Iterator[None]:
    """Raise the system's errors as an `OrchestratorError`; ``target`` is being written."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OrchestratorError(
                f"{target}: the disk is full; it needs room for the home twice. Nothing was kept"
            ) from error
        where, why = error.filename or target, error.strerror or error
        raise OrchestratorError(
            f"{os.fsdecode(where)}: {why}; use the user who owns it, or another place"
        ) from error


def sync_folder(folder: Path) -> None:
    """Make new names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
