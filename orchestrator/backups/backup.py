"""Write a backup of a home, whether a daemon runs on it or not."""

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
from orchestrator.backups.archive import ArchiveWriter, Manifest, unpack
from orchestrator.backups.home_contents import JOURNAL, HomeEntry, entries
from orchestrator.errors import OrchestratorError
from orchestrator.journal.db.online_copy import copy_journal
from orchestrator.settings import Settings

SCRATCH = ".orchestrator-backup-"  # begins the name of the folder that is written to first


@dataclass(frozen=True)
class BackupReport:
    """A backup that was written. ``outside`` are links of the home that lead out of it."""

    path: Path
    size: int
    manifest: Manifest
    outside: tuple[str, ...]


def write_backup(settings: Settings, path: Path, *, keys: bool) -> BackupReport:
    """Write a new file, read it again to check it, and only then give it its name.

    Raises:
        OrchestratorError: it cannot be written, or the home cannot be read; no file is left.
    """
    path, home = path.expanduser().absolute(), settings.home
    _check_paths(path, home)
    manifest = Manifest(__version__, datetime.now(UTC).isoformat(timespec="seconds"), keys=keys)
    outside = []
    with as_sentences(path.parent), scratch_folder(path.parent, SCRATCH) as scratch:
        fresh = scratch / path.name
        with fresh.open("xb") as file:
            writer = ArchiveWriter(file, manifest, scratch)
            if settings.store is None and os.path.lexists(home / JOURNAL):
                copy = scratch / JOURNAL
                manifest.schema = copy_journal(home / JOURNAL, copy)
                writer.add(HomeEntry(JOURNAL, copy, copy.lstat()))
            for entry in entries(home, keys=keys):
                writer.add(entry)
                if _leads_out(entry, home):
                    outside.append(entry.name)
            writer.finish()
            os.fchmod(file.fileno(), stat.S_IRUSR | stat.S_IWUSR)
            file.flush()
            os.fsync(file.fileno())
        manifest = unpack(fresh, None)
        _give_name(fresh, path)
        sync_folder(path.parent)
    return BackupReport(path, path.stat().st_size, manifest, tuple(outside))


def _check_paths(path: Path, home: Path) -> None:
    if not home.is_dir():
        raise OrchestratorError(f"{home}: there is no home; name one with --home")
    if path.is_dir():
        raise OrchestratorError(f"{path} is a folder; name a new file in it")
    if os.path.lexists(path):
        raise OrchestratorError(f"{path} exists; choose another name or remove it")
    if not path.parent.is_dir():
        raise OrchestratorError(f"{path.parent}: there is no such folder; make it first")
    if path.parent.resolve().is_relative_to(home.resolve()):
        raise OrchestratorError(f"{path} is inside of the home; choose a folder outside")


def _leads_out(entry: HomeEntry, home: Path) -> bool:
    if not stat.S_ISLNK(entry.facts.st_mode):
        return False
    return not entry.path.resolve().is_relative_to(home.resolve())


def _give_name(fresh: Path, path: Path) -> None:
    """Move a file to a name that nothing else may have; some file systems have no hard links."""
    try:
        path.hardlink_to(fresh)
    except FileExistsError as error:
        raise OrchestratorError(f"{path} exists; choose another name or remove it") from error
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
            raise
        fresh.rename(path)


@contextmanager
def scratch_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Make a folder of this user's own, and remove it at the end with what is still in it."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def as_sentences(target: Path) -> Iterator[None]:
    """Raise what the system refuses as an `OrchestratorError`; ``target`` is written to."""
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
