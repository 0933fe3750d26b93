"""Make a home from a backup: all of it, or nothing."""

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import apsw

from orchestrator.backups.archive import Manifest, unpack
from orchestrator.backups.backup import as_sentences, scratch_folder, sync_folder
from orchestrator.backups.home_contents import JOURNAL, KEYS, entries
from orchestrator.errors import AlreadyRunningError, OrchestratorError
from orchestrator.journal.db.online_copy import whole_schema
from orchestrator.journal.db.sqlite_storage import open_database
from orchestrator.journal.migrations import scripts
from orchestrator.settings import Settings
from orchestrator.system.homelock import locked

SCRATCH = ".orchestrator-restore-"
LOCK = "lock"


@dataclass(frozen=True)
class RestoreReport:
    """What was restored. ``aside`` is where the old home is now, ``schema`` the journal's now.

    ``keys`` are the files of keys that were taken over from the old home.
    """

    home: Path
    manifest: Manifest
    schema: int | None
    aside: Path | None
    keys: tuple[str, ...]


def restore_backup(settings: Settings, path: Path, *, replace: bool) -> RestoreReport:
    """Check a backup, make a home of it beside the old one, and put it in its place.

    The old home is kept. Its keys are taken over if the backup has none.

    Raises:
        AlreadyRunningError: a daemon runs on the home.
        OrchestratorError: the home is used and may not be replaced, the backup cannot be used, or
            the home cannot be written; nothing was changed.
    """
    home, path = settings.home.resolve(), path.expanduser().absolute()
    with as_sentences(home.parent), _held(settings, home):
        used = home.exists() and _is_used(home)
        if used and not replace:
            raise OrchestratorError(
                f"{home} is a home already; --replace moves it aside and keeps it, --home names"
                " another one"
            )
        home.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with scratch_folder(home.parent, SCRATCH) as scratch:
            fresh = scratch / "home"
            fresh.mkdir(mode=0o700)
            manifest = unpack(path, fresh)  # before anything else is touched
            schema = _checked_journal(path, fresh / JOURNAL)
            kept = () if manifest.keys else _keys_taken_over(home, fresh)
            _belong_to_owner_of(home, fresh)
            aside = _put_aside(home, used=used)
            try:
                fresh.rename(home)
            except OSError:
                if aside is not None:
                    aside.rename(home)
                raise
        sync_folder(home.parent)
    return RestoreReport(home, manifest, schema, aside, kept)


@contextmanager
def _held(settings: Settings, home: Path) -> Iterator[None]:
    """Keep daemons from starting on the home meanwhile."""
    if not home.exists():
        yield
        return
    try:
        with locked(settings):
            yield
    except AlreadyRunningError as error:
        raise AlreadyRunningError(
            f"a daemon runs on {home}; stop it first: orchestrator stop"
        ) from error


def _is_used(home: Path) -> bool:
    has_files = any(not stat.S_ISDIR(entry.facts.st_mode) for entry in entries(home, keys=True))
    return has_files or os.path.lexists(home / JOURNAL)


def _checked_journal(path: Path, journal: Path) -> int | None:
    """Check a restored journal and bring it to this version's schema, which is returned."""
    if not journal.exists():
        return None
    try:
        with closing(apsw.Connection(str(journal))) as db:
            found, newest = whole_schema(db, path), max(scripts())
    except apsw.Error as error:
        raise OrchestratorError(f"{path}: its journal cannot be read ({error})") from error
    if found > newest:
        raise OrchestratorError(
            f"{path}: a newer version of this program wrote its journal (schema {found}, this one"
            f" reads up to {newest}); use that version"
        )
    open_database(journal).close()
    return newest


def _keys_taken_over(home: Path, fresh: Path) -> tuple[str, ...]:
    kept = []
    for name in KEYS:
        if (home / name).is_file():
            shutil.copyfile(home / name, fresh / name)
            (fresh / name).chmod(0o600)
            kept.append(name)
    return tuple(kept)


def _belong_to_owner_of(home: Path, fresh: Path) -> None:
    """Give the new home the owner of the old one, as root may restore that of a service."""
    if os.geteuid() or not home.exists():
        return
    owner = home.stat()
    for path in (fresh, *fresh.rglob("*")):
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def _put_aside(home: Path, *, used: bool) -> Path | None:
    """Move a home out of the way; one that holds nothing is removed. Return where it is now."""
    if not home.exists():
        return None
    if not used:
        with suppress(OSError):
            (home / LOCK).unlink(missing_ok=True)
            home.rmdir()
            return None
    aside = home.with_name(f"{home.name}.before-{datetime.now(UTC):%Y%m%d-%H%M%S}")
    home.rename(aside)
    return aside
