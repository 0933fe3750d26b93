"""The open journal: all transactions and reads of the daemon, on any storage."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol, TypeVar

import anyio
import structlog
from structlog.contextvars import get_contextvars

from orchestrator.errors import JournalError
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.writer import (
    CrashRecord,
    Job,
    JobWriter,
    StorageFailedError,
    StorageFullError,
)
from orchestrator.journal_address import JournalAddress, SharingDaemon
from orchestrator.loop_bound import LoopBound
from orchestrator.placement import name_turn_owner

STORAGE_RETRY = 2.0  # seconds between two tries to write what could not be written
T = TypeVar("T")
log = structlog.get_logger()


class FencedError(JournalError):
    """A newer owner has changed the row; the caller must stop changing it."""


async def retry_later(error: JournalError, **facts: str) -> None:
    """Log that the journal could not be used, and wait before a retry."""
    report_failure(error, **facts)
    await anyio.sleep(STORAGE_RETRY)


def report_failure(error: JournalError, **facts: str) -> None:
    """Log that the journal could not be used; that another node works for a row is no failure."""
    log_it = log.debug if isinstance(error, FencedError) else log.error
    log_it("journal_failed", problem=str(error), **facts)


class Read(Protocol):
    """Reads one state of the journal."""

    async def __call__(self, work: Callable[..., T], *args: object) -> T:
        """Return ``work(db, *args)``; wait while the database is away.

        `Storage.read` may run it on the event loop, so it must take milliseconds.

        Like a job of the writer, it gets plain data and changes nothing in this process.

        Raises:
            JournalError: the journal is closed or cannot be read.
            StorageFailedError: a damaged page was read, so nothing is written any more.
        """


class Storage(Protocol):
    """The storage that a `Store` writes to and reads from.

    ``watch`` is the number of seconds between two checks whether another process has taken the
    journal, infinite if none can. ``unclean`` says that the previous process may have done unstored
    work; ``crashes`` has the job in which that process died.
    """

    @property
    def address(self) -> JournalAddress: ...

    @property
    def watch(self) -> float: ...

    @property
    def unclean(self) -> bool: ...

    @property
    def crashes(self) -> CrashRecord: ...

    @property
    def read(self) -> Read: ...

    @property
    def search(self) -> Read:
        """Does as ``read``, for what may take longer: neither loop nor writer waits for it."""

    @property
    def writer(self) -> JobWriter: ...

    def measure_size(self) -> int:
        """Return the size of the storage in bytes."""

    def clock_offset(self) -> int:
        """Return by how many ms the sharing daemons' clock is ahead of this machine's."""

    async def list_sharing_daemons(self) -> tuple[SharingDaemon, ...]:
        """List the daemons that share the journal, this one first; empty if none can."""

    def is_held(self) -> bool:
        """Return whether no other process can hold the journal now."""

    def owns(self, owner: str) -> bool:
        """Return whether this process works for the owner of a row."""

    def close(self, failure: StorageFailedError | None) -> None:
        """Finish the queued jobs; after a ``failure``, the stored data cannot be trusted."""


def _find_turn_owner() -> str:
    """Return the owner of the turn that runs, by the log's context; empty without a turn."""
    context = get_contextvars()
    if "turn_id" not in context:
        return ""
    return name_turn_owner(str(context.get("agent_id", "")), str(context.get("chat_id", "")))


def _probe_database(db: Database) -> None:
    db.execute("SELECT 1")


class Store(LoopBound):
    """The open journal, used only through `transact`, `transact_once`, `read` and `search`.

    `transact` waits while nothing can be stored; `transact_once` does not. ``failure`` is set once
    the storage has failed. ``address``, ``unclean``, ``crashes``, `clock_offset` and
    `list_sharing_daemons` are those of the ``storage``.
    """

    def __init__(self, storage: Storage, retry: float = STORAGE_RETRY) -> None:
        self.failure: StorageFailedError | None = None
        self._failed = asyncio.Event()
        self._refused: set[Callable[..., object]] = set()  # work that could not be stored
        self._retry = retry
        self._closed = False
        self.storage = storage
        self.is_shared = storage.watch < math.inf  # another daemon can take it
        self.address = storage.address
        self.unclean = storage.unclean
        self.read: Read = self._read
        self.search: Read = self._search
        self.crashes = storage.crashes
        self.clock_offset = storage.clock_offset
        self.sharing = storage.list_sharing_daemons
        self._writer = storage.writer

    async def transact(self, work: Callable[..., T], *args: object, owner: str = "") -> T:
        """Run ``work(db, *args)`` in a transaction and return its value once it is on disk.

        While the disk is full or the database away, the work is repeated every `STORAGE_RETRY`
        seconds. Cancelling the caller does not undo the work. ``owner`` is whose rows it writes, by
        default those of the turn that runs; see the module `owners`.

        Raises:
            FencedError: another node works for the owner.
            JournalError: the file is locked or closed.
            StorageFailedError: the disk failed, in this transaction or an earlier one.
            Exception: raised by ``work``, which was rolled back.
        """
        try:
            while True:
                with suppress(StorageFullError):
                    return await self.transact_once(work, *args, owner=owner)
                await anyio.sleep(self._retry)
        finally:
            self._refused.discard(work)  # a cancelled caller does not retry

    async def transact_once(self, work: Callable[..., T], *args: object, owner: str = "") -> T:
        """Run ``work(db, *args)`` like `transact`, but only once.

        Raises:
            StorageFullError: the disk is full; nothing was written.
        """
        if self._closed:
            raise JournalError("the journal is closed")
        if self.failure is not None:
            raise self.failure
        loop = asyncio.get_running_loop()
        chat = str(get_contextvars().get("chat_id", ""))
        owner = owner or _find_turn_owner()
        job: Job[T] = Job(work, args, loop.create_future(), loop, self.crashes, chat, owner)
        self._writer.put(job)
        try:
            value = await job.future
        except StorageFullError as error:
            if not self._refused:
                log.error("storage_full", problem=str(error))
            self._refused.add(work)
            raise
        except StorageFailedError as error:
            self.record_failure(error)
            raise
        if self.failure is not None:  # found meanwhile: what was written then may be lost
            raise self.failure
        if work in self._refused and job.wrote:  # other, smaller work may fit on a full disk
            self._refused.remove(work)
            if not self._refused:
                log.info("storage_has_space")
        return value

    async def _read(self, work: Callable[..., T], *args: object) -> T:
        return await self._watch(self.storage.read(work, *args))

    async def _search(self, work: Callable[..., T], *args: object) -> T:
        return await self._watch(self.storage.search(work, *args))

    async def _watch(self, reading: Awaitable[T]) -> T:
        """Return what is read; a damaged file is recorded as failed."""
        try:
            return await reading
        except StorageFailedError as error:
            self.record_failure(error)
            raise

    async def ensure_held(self, owner: str = "") -> None:
        """Return once no other daemon can hold the journal, before anything irreversible.

        A machine that has slept could otherwise act on work that another one has taken over.
        ``owner`` is whose work that is, by default that of the turn that runs.

        Raises:
            FencedError: another node works for the owner.
            StorageFailedError: another daemon holds the journal.
        """
        while self.is_shared and not self.storage.is_held():
            await self.transact(_probe_database)
        owner = owner or _find_turn_owner()
        if owner and not self.storage.owns(owner):
            raise FencedError(f"another node works for {owner!r}")

    def record_failure(self, error: StorageFailedError) -> None:
        """Stop writing; `wait_for_failure` returns the error."""
        self.failure = error
        self._failed.set()

    async def wait_for_failure(self) -> StorageFailedError:
        """Return the error that made the journal unusable, checking whether it was lost."""
        while self.failure is None:
            with anyio.move_on_after(self.storage.watch):
                await self._failed.wait()
            with suppress(StorageFailedError, JournalError):
                await self.ensure_held()
        return self.failure

    def measure_size(self) -> int:
        """Return the size of the stored data in bytes."""
        return self.storage.measure_size()

    def close(self) -> None:
        """Finish the queued jobs and close the journal."""
        self._closed = True
        self.storage.close(self.failure)
