"""Backups in a daemon: one is written into the home when a person asks for it."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import anyio
from anyio import to_thread
from pydantic import JsonValue

from orchestrator.control.camel_model import CamelModel
from orchestrator.errors import OrchestratorError
from orchestrator.extension import DaemonView, Part
from orchestrator.extensions.backups.backup import SCRATCH, BackupReport, write_backup
from orchestrator.extensions.backups.home_contents import BACKUPS
from orchestrator.journal_address import DatabaseServer
from orchestrator.settings import Settings
from thinker.protocol.peer import FAILED, Peer, RequestHandler, RpcError

BACKUP_MAKE = "backup/make"  # → MadeBackup
KEPT = 10  # backups in the home; older ones are removed
PATIENCE = 20.0  # seconds that the answer waits; a large journal takes minutes
PATTERN = "backup-*.tar.gz"
DONE = (
    "written and verified, without keys; the newest {kept} are kept there. Copy it to another"
    " machine: it is lost with this disk"
)
GOING_ON = "this takes longer; the backup appears there when it is whole and verified"
BUSY = "a backup is being written; wait until it is done"
ELSEWHERE = "; the journal is in a database and not in it, save that with: pg_dump"


class MadeBackup(CamelModel):
    """A backup of the home; ``bytes`` is None while it is being written."""

    path: str
    bytes: int | None
    text: str


class BackupsPart(Part):
    """Writes a backup at a time into the home's folder for them."""

    def __init__(self, daemon: DaemonView) -> None:
        super().__init__(daemon)
        self._writing = False
        self._outcome: BackupReport | Exception | None = None

    async def open(self) -> None:
        backups = self.daemon.settings.home / BACKUPS
        await self.daemon.machine.in_thread(remove_unfinished, backups)

    def list_control_methods(self, peer: Peer | None) -> dict[str, RequestHandler]:
        del peer
        return {BACKUP_MAKE: self._make_backup}

    async def _make_backup(self, params: JsonValue) -> MadeBackup:
        """Write a backup without keys; after a while its writing goes on by itself."""
        del params
        if self._writing:
            raise RpcError(FAILED, BUSY)
        settings, now = self.daemon.settings, self.daemon.machine.clock()
        path = settings.home / BACKUPS / name_backup(now)
        self._writing, self._outcome, done = True, None, anyio.Event()
        self.daemon.tasks.start_soon(self._write, settings, path, done)
        with anyio.move_on_after(PATIENCE):
            await done.wait()
        outcome, text = self._outcome, DONE.format(kept=KEPT)
        if outcome is None:
            return MadeBackup(path=str(path), bytes=None, text=GOING_ON)
        if isinstance(outcome, Exception):
            raise RpcError(FAILED, f"no backup was made: {outcome}")
        if isinstance(settings.journal, DatabaseServer):
            text += ELSEWHERE
        return MadeBackup(path=str(path), bytes=outcome.size, text=text)

    async def _write(self, settings: Settings, path: Path, done: anyio.Event) -> None:
        """Write in a thread, which is abandoned when the daemon stops."""
        try:
            self._outcome = await to_thread.run_sync(
                write_home_backup, settings, path, abandon_on_cancel=True
            )
        except (OrchestratorError, OSError) as error:
            self._outcome = error
        finally:
            self._writing = False
            done.set()


def name_backup(now: int) -> str:
    """Return the name of a backup of that time, in milliseconds since the epoch."""
    return f"backup-{datetime.fromtimestamp(now / 1000, UTC):%Y-%m-%dT%H-%M-%SZ}.tar.gz"


def write_home_backup(settings: Settings, path: Path) -> BackupReport:
    """Write a backup into the home's folder for them, of which old ones are removed.

    Raises:
        OrchestratorError: it cannot be written; the old ones stay.
    """
    folder = path.parent
    folder.mkdir(mode=0o700, exist_ok=True)
    report = write_backup(settings, path, keys=False)
    for old in sorted(folder.glob(PATTERN))[:-KEPT]:
        old.unlink(missing_ok=True)
    return report


def remove_unfinished(folder: Path) -> None:
    """Remove what an earlier daemon left of a backup when it ended."""
    for rest in folder.glob(f"{SCRATCH}*"):
        shutil.rmtree(rest, ignore_errors=True)
