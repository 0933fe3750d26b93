"""Make a home from a backup: all of it, or nothing.

Where: is a backup restored?
"""

import os
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import apsw

from orchestrator.errors import AlreadyRunningError, OrchestratorError
from orchestrator.extensions.backups.archive import Manifest, unpack_backup
from orchestrator.extensions.backups.backup import (
    explain_os_errors,
    make_scratch_folder,
    sync_folder,
)
from orchestrator.extensions.backups.home_contents import JOURNAL, list_home_entries
from orchestrator.extensions.backups.online_copy import require_intact_schema
from orchestrator.extensions.backups.open_questions import repeat_open_questions
from orchestrator.home_paths import KEYS
from orchestrator.journal import migrations
from orchestrator.journal.db.sqlite_storage import open_database
from orchestrator.settings import Settings
from orchestrator.system.homelock import hold_lock

SCRATCH = ".orchestrator-restore-"
LOCK = "lock"


@dataclass(frozen=True)
class RestoreReport:
    """A finished restore; ``aside`` is the new place of the old home, ``schema`` the journal's.

    ``keys`` are the files of keys that were taken over from the old home. ``waiting`` calls
    need a person's decision, for which their chats are asked again at the next start. ``links`` out
    of the home were not made again.
    """

    home: Path
    manifest: Manifest
    schema: int | None
    aside: Path | None
    keys: tuple[str, ...]
    waiting: int = 0
    links: tuple[str, ...] = ()


def restore_backup(settings: Settings, path: Path, *, replace: bool) -> RestoreReport:
    """Check a backup, unpack it beside the old home, and swap the two.

    The old home is kept. Its keys are taken over if the backup has none.

    Raises:
        AlreadyRunningError: a daemon runs on the home.
        OrchestratorError: the home is used and may not be replaced, the backup cannot be used, or
            the home cannot be written; nothing was changed.
    """
    home, path = settings.home.resolve(), path.expanduser().absolute()
    with explain_os_errors(home.parent), _hold_home(settings, home):
        used = home.exists() and _is_used(home)
        if used and not replace:
            raise OrchestratorError(
                f"{home} is a home already; --replace moves it aside and keeps it, --home names"
                " another one"
            )
        home.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with make_scratch_folder(home.parent, SCRATCH) as scratch:
            fresh = scratch / "home"
            fresh.mkdir(mode=0o700)
            manifest = unpack_backup(path, fresh, home)  # before anything else is touched
            links = tuple(name for name in manifest.files if not os.path.lexists(fresh / name))
            schema = _check_journal(path, fresh / JOURNAL)
            now = time.time_ns() // 1_000_000
            waiting = repeat_open_questions(fresh / JOURNAL, manifest.made, now) if schema else 0
            kept = () if manifest.keys else _take_over_keys(home, fresh)
            _copy_owner(home, fresh)
            aside = _put_aside(home, used=used)
            try:
                fresh.rename(home)
            except OSError:
                if aside is not None:
                    aside.rename(home)
                raise
        sync_folder(home.parent)
    return RestoreReport(home, manifest, schema, aside, kept, waiting, links)


@contextmanager
def _hold_home(settings: Settings, home: Path) -> Iterator[None]:
    """Keep daemons from starting on the home meanwhile."""
    if not home.exists():
        yield
        return
    try:
        with hold_lock(settings):
            yield
    except AlreadyRunningError as error:
        raise AlreadyRunningError(
            f"a daemon runs on {home}; stop it first: orchestrator stop"
        ) from error


def _is_used(home: Path) -> bool:
    has_files = any(
        not stat.S_ISDIR(entry.facts.st_mode) for entry in list_home_entries(home, keys=True)
    )
    return has_files or os.path.lexists(home / JOURNAL)


def _check_journal(path: Path, journal: Path) -> int | None:
    """Check a restored journal, upgrade its schema, and return the schema number."""
    if not journal.exists():
        return None
    try:
        with closing(apsw.Connection(str(journal))) as db:
            found, newest = require_intact_schema(db, path), migrations.load_schema().number
    except apsw.Error as error:
        raise OrchestratorError(f"{path}: its journal cannot be read ({error})") from error
    if found > newest:
        raise OrchestratorError(
            f"{path}: a newer version of this program wrote its journal (schema {found}, this one"
            f" reads up to {newest}); use that version"
        )
    open_database(journal).close()
    return newest


def _take_over_keys(home: Path, fresh: Path) -> tuple[str, ...]:
    kept = []
    for name in KEYS:
        if (home / name).is_file():
            fd = os.open(fresh / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with (home / name).open("rb") as source, os.fdopen(fd, "wb") as copy:
                shutil.copyfileobj(source, copy)
            kept.append(name)
    return tuple(kept)


def _copy_owner(home: Path, fresh: Path) -> None:
    """Give the new home the old one's owner: root may restore a service's home."""
    if os.geteuid() or not home.exists():
        return
    owner = home.stat()
    for path in (fresh, *fresh.rglob("*")):
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def _put_aside(home: Path, *, used: bool) -> Path | None:
    """Move a home aside and return its new place; remove an empty one."""
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
