"""The open journal: all transactions and reads of the daemon, wherever its rows are."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, Protocol, TypeVar

import anyio
import structlog
from structlog.contextvars import get_contextvars

from orchestrator.errors import JournalError
from orchestrator.journal.db.crash_record import CrashRecord
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.writer import Job, JobWriter, StorageFailedError, StorageFullError
from orchestrator.journal_address import JournalAddress
from orchestrator.loop_owned import LoopOwned

STORAGE_RETRY = 2.0  # seconds between two tries to write what could not be written
T = TypeVar("T")
log = structlog.get_logger()


class FencedError(JournalError):
    """A newer owner has changed the row; the caller must stop changing it."""


async def retry_later(error: JournalError, **facts: str) -> None:
    """Log that the journal could not be used, and wait before the caller tries again."""
    report_failure(error, **facts)
    await anyio.sleep(STORAGE_RETRY)


def report_failure(error: JournalError, **facts: str) -> None:
    log.error("journal_failed", problem=str(error), **facts)


class SharingDaemon(NamedTuple):
    """A daemon on a shared journal: its machine's name and address, and whether it has the journal.

    ``since`` is when it connected, in milliseconds since the epoch.
    """

    name: str
    address: str
    works: bool
    since: int


class Read(Protocol):
    """Reads one state of the journal."""

    async def __call__(self, work: Callable[..., T], *args: object) -> T:
        """Return ``work(db, *args)``, which must be short; wait while the database is away.

        Like a job of the writer, it gets plain data and changes nothing in this process.

        Raises:
            JournalError: the journal is closed or cannot be read.
        """


class Storage(Protocol):
    """What a `Store` writes to and reads from.

    ``watch`` is the seconds between two looks whether another process has taken it, infinite if
    none can. ``checked`` tells that it was looked through for damage when it was opened or need not
    be, ``unclean`` that the process before this one may have done what is not stored, and
    ``crashes`` in which job it died.
    """

    @property
    def address(self) -> JournalAddress: ...

    @property
    def watch(self) -> float: ...

    @property
    def checked(self) -> bool: ...

    @property
    def unclean(self) -> bool: ...

    @property
    def crashes(self) -> CrashRecord: ...

    @property
    def read(self) -> Read: ...

    @property
    def writer(self) -> JobWriter: ...

    def size(self) -> int:
        """Return the bytes that are stored."""

    def clock_offset(self) -> int:
        """Return how many milliseconds the clock of all who share it is ahead of this machine's."""

    async def sharing(self) -> tuple[SharingDaemon, ...]:
        """Return the daemons that share it, this one first; none if it cannot be shared."""

    def held(self) -> bool:
        """Return whether no other process can have it now."""

    def close(self, *, failed: bool) -> None:
        """Finish the queued jobs; ``failed`` if what is stored cannot be trusted."""


def _look(db: Database) -> None:
    db.execute("SELECT 1")


class Store(LoopOwned):
    """The open journal. `transact`, `attempt` and `read` are the only ways in.

    `transact` waits while nothing can be stored; `attempt` does not. ``failure`` is set once the
    storage has failed. ``address``, ``checked``, ``unclean``, ``crashes``, `clock_offset` and
    `sharing` are the `Storage`'s.
    """

    def __init__(self, storage: Storage, retry: float = STORAGE_RETRY) -> None:
        self.failure: StorageFailedError | None = None
        self._failed = asyncio.Event()
        self._refused: set[Callable[..., object]] = set()  # work that could not be stored
        self._retry = retry
        self._closed = False
        self._storage = storage
        self.address = storage.address
        self.checked = storage.checked
        self.unclean = storage.unclean
        self.crashes = storage.crashes
        self.read = storage.read
        self.clock_offset = storage.clock_offset
        self.sharing = storage.sharing
        self._writer = storage.writer

    async def transact(self, work: Callable[..., T], *args: object) -> T:
        """Run ``work(db, *args)`` in a transaction and return its value once it is on disk.

        While the disk is full or the database away, the work is repeated every `STORAGE_RETRY`
        seconds. Cancelling the caller does not undo the work.

        Raises:
            JournalError: the file is locked or closed.
            StorageFailedError: the disk failed, in this transaction or an earlier one.
            Exception: raised by ``work``, which was rolled back.
        """
        try:
            while True:
                with suppress(StorageFullError):
                    return await self.attempt(work, *args)
                await anyio.sleep(self._retry)
        finally:
            self._refused.discard(work)  # a cancelled caller tries no more

    async def attempt(self, work: Callable[..., T], *args: object) -> T:
        """Run ``work(db, *args)`` like `transact`, but only once.

        Raises:
            StorageFullError: the disk is full; nothing was written.
        """
        if self._closed:
            raise JournalError("the journal is closed")
        if self.failure is not None:
            raise self.failure
        loop = asyncio.get_running_loop()
        chat = str(get_contextvars().get("chat_id", ""))  # what is logged is done for it
        job: Job[T] = Job(work, args, loop.create_future(), loop, self.crashes, chat)
        self._writer.put(job)
        try:
            value = await job.future
        except StorageFullError as error:
            if not self._refused:
                log.error("storage_full", problem=str(error))
            self._refused.add(work)
            raise
        except StorageFailedError as error:
            self.fail(error)
            raise
        if work in self._refused and job.wrote:  # other, smaller work may fit on a full disk
            self._refused.remove(work)
            if not self._refused:
                log.info("storage_has_space")
        return value

    async def still_held(self) -> None:
        """Return once no other daemon can have the journal, as before what cannot be undone.

        A machine that has slept would do what another one has taken over.

        Raises:
            StorageFailedError: another daemon has it.
        """
        while not self._storage.held():
            await self.transact(_look)

    def fail(self, error: StorageFailedError) -> None:
        """Write no more; `failed` returns the error."""
        self.failure = error
        self._failed.set()

    async def failed(self) -> StorageFailedError:
        """Return why the journal cannot be used any more; what can be lost is looked at."""
        while self.failure is None:
            with anyio.move_on_after(self._storage.watch):
                await self._failed.wait()
            with suppress(StorageFailedError, JournalError):
                await self.still_held()
        return self.failure

    def size(self) -> int:
        """Return the size of what is stored in bytes."""
        return self._storage.size()

    def close(self) -> None:
        """Finish the queued jobs and close the journal."""
        self._closed = True
        self._storage.close(failed=self.failure is not None)
