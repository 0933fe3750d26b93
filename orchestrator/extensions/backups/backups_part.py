"""Backups in a daemon: one is written into the home when a person asks for it."""

import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from subprocess import CompletedProcess

import anyio
import structlog
from pydantic import JsonValue

from orchestrator.control.camel_model import CamelModel
from orchestrator.extension import DaemonView, Part
from orchestrator.extensions.backups.home_contents import BACKUPS, SCRATCH
from orchestrator.journal_address import DatabaseServer
from orchestrator.processes.own_programs import run_program
from thinker.protocol.peer import FAILED, Peer, RequestHandler, RpcError

BACKUP_MAKE = "backup/make"  # → MadeBackup
KEPT = 10  # backups in the home; older ones are removed
PATIENCE = 20.0  # seconds that the answer waits; a large journal takes minutes
PATTERN = "backup-*.tar.gz"
COMMAND = (sys.executable, "-P", "-m", "orchestrator", "backup")
DONE = (
    "written and verified, without keys; the newest {kept} are kept there. Copy it to another"
    " machine: it is lost with this disk"
)
GOING_ON = "this takes longer; the backup appears there when it is whole and verified"
BUSY = "a backup is being written; wait until it is done"
ELSEWHERE = "; the journal is in a database and not in it, save that with: pg_dump"

log = structlog.get_logger()


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
        self._failure: str | None = None

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
        self._writing, done = True, anyio.Event()
        self.daemon.tasks.start_soon(self._write, settings.home, path, done)
        with anyio.move_on_after(PATIENCE):
            await done.wait()
        text = DONE.format(kept=KEPT)
        if self._writing:
            return MadeBackup(path=str(path), bytes=None, text=GOING_ON)
        if self._failure is not None:
            raise RpcError(FAILED, f"no backup was made: {self._failure}")
        if isinstance(settings.journal, DatabaseServer):
            text += ELSEWHERE
        return MadeBackup(path=str(path), bytes=path.lstat().st_size, text=text)

    async def _write(self, home: Path, path: Path, done: anyio.Event) -> None:
        """Write in a process of its own, which ends with the daemon."""
        try:
            await self.daemon.machine.in_thread(prepare_folder, path.parent)
            process = await run_program([*COMMAND, str(path), "--home", str(home)])
            self._failure = find_failure(process)
            if self._failure is None:
                await self.daemon.machine.in_thread(remove_old, path.parent)
        except OSError as error:
            self._failure = str(error)
        finally:
            self._writing = False
            done.set()
        if self._failure is not None:
            log.warning("backup_failed", path=str(path), error=self._failure)


def name_backup(now: int) -> str:
    """Return the name of a backup of that time, in milliseconds since the epoch."""
    return f"backup-{datetime.fromtimestamp(now / 1000, UTC):%Y-%m-%dT%H-%M-%SZ}.tar.gz"


def find_failure(process: CompletedProcess[bytes]) -> str | None:
    """Return why the command wrote no backup, in its own words."""
    if process.returncode == 0:
        return None
    words = process.stderr.decode("utf-8", "replace").strip()
    return words or f"the command ended with {process.returncode}"


def prepare_folder(folder: Path) -> None:
    """Make the home's folder for backups and remove what an ended daemon left unfinished."""
    folder.mkdir(mode=0o700, exist_ok=True)
    for rest in folder.glob(f"{SCRATCH}*"):
        shutil.rmtree(rest, ignore_errors=True)


def remove_old(folder: Path) -> None:
    """Remove the daemon's backups but the newest; others' files stay."""
    for old in sorted(folder.glob(PATTERN))[:-KEPT]:
        old.unlink(missing_ok=True)
