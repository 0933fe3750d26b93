"""Check a journal's file once for damaged pages, while the daemon works.

To do it before the first answer would make a start as slow as the file is large. A small file is
checked on another thread; a large one in a process of its own, because a thread without priority
that holds a lock makes all others wait.

A daemon that stops or dies before the end leaves the check to the next one, which begins anew.
"""

import signal
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import anyio
import apsw
import structlog
from anyio import to_thread

from orchestrator.errors import ExitCode, OrchestratorError
from orchestrator.extensions.upkeep.damage_reader import DamageReader
from orchestrator.files import OffLoop
from orchestrator.journal.db.store import Store
from orchestrator.journal.db.writer import JournalDamagedError
from orchestrator.wakeup import call_when_cancelled

FIRST = 5.0  # seconds after the start, when the daemon is busy
BREATH = 0.05  # seconds between two tables
SMALL = 16_000_000  # bytes that are checked in less time than a process takes to start
COMMAND = (sys.executable, "-P", "-m", "orchestrator.extensions.upkeep")
log = structlog.get_logger()


@dataclass(frozen=True)
class JournalCheck:
    """Stops all writing when it finds damage, which later writes would hide."""

    store: Store
    first: float = FIRST
    in_thread: OffLoop = to_thread.run_sync
    small: int = SMALL

    async def run(self) -> None:
        """Check the file until done or cancelled; a database server checks its own."""
        if not isinstance(self.store.address, Path):
            return
        if not self.store.unclean:  # else the sooner the better
            await anyio.sleep(self.first)
        try:
            large = self.store.measure_size() > self.small
            find_damage = _find_damage_in_process if large else self._find_damage
            problem = await find_damage(self.store.address)
        except OrchestratorError as error:
            log.warning("journal_not_checked", problem=str(error))
            return
        if problem is None:
            log.debug("journal_checked")
            return
        log.error("journal_damaged", problem=problem)
        self.store.record_failure(JournalDamagedError(problem))

    async def _find_damage(self, path: Path) -> str | None:
        """Return the first damage, or None.

        Raises:
            OrchestratorError: a table could not be checked.
        """
        failure: apsw.Error | None = None
        with closing(DamageReader(path)) as reader:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call_when_cancelled, reader.interrupt)  # a large table takes long
                try:
                    for table in reader.list_tables():
                        found = await self.in_thread(reader.find_damage, table)
                        if found is not None:
                            return found
                        await anyio.sleep(BREATH)
                except apsw.Error as error:
                    failure = error
                finally:
                    tasks.cancel_scope.cancel()
        if failure is not None:
            raise OrchestratorError(str(failure)) from failure
        return None


async def _find_damage_in_process(path: Path) -> str | None:
    """Return the first damage, or None.

    Raises:
        OrchestratorError: the process could not say.
    """
    done = await anyio.run_process([*COMMAND, str(path)], check=False)
    if done.returncode == ExitCode.IO:
        return done.stdout.decode("utf-8", "replace")
    if done.returncode == -signal.SIGBUS:
        return "the disk cannot read it"
    if done.returncode:
        words = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise OrchestratorError(words[-1] if words else f"the check ended with {done.returncode}")
    return None
