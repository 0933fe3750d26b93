"""The interface of a journal that is not a file (`Extension.build_engine`)."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from orchestrator.errors import JournalError
from orchestrator.journal.db.database import Connection, Database
from orchestrator.journal.db.store import Storage

T = TypeVar("T")


class PageReads(Protocol):
    """Reads a journal over connections opened at the start, which are never reopened.

    ``lost`` is set once that fails; ``failure`` then says why.
    """

    lost: asyncio.Event
    failure: JournalError | None

    async def __call__(self, read: Callable[..., T], *args: object) -> T:
        """Return ``read(db, *args)``.

        The query runs on the event loop: the process has no other work, and queries must be short.
        """

    def read_now(self, read: Callable[..., T], *args: object) -> T:
        """Return ``read(db, *args)``, which sees one state of the journal.

        Raises:
            QueryTimeoutError: the query took too long.
            JournalError: the journal cannot be read.
        """

    def read_version(self) -> int:
        """Return a number that changes with each commit of the daemon."""

    def close(self) -> None: ...


class Engine(Protocol):
    """Keeps one journal; every method raises `JournalError` if it cannot be used."""

    def open_storage(self, standing_by: Callable[[], None]) -> Storage:
        """Open the journal for a daemon, with the current schema.

        Waits while another daemon holds it; ``standing_by`` is called as the wait begins, and
        every ten seconds.
        """

    def open_journal(self) -> Connection:
        """Open the journal for writing while no daemon holds it, with the current schema.

        Raises:
            AlreadyRunningError: a daemon holds it.
        """

    def open_for_writing(self) -> AbstractContextManager[Database]:
        """Open the journal as `open_journal` does, with a transaction for the block."""

    def open_for_reading(self) -> AbstractContextManager[Database]:
        """Open one state of the journal for the block, with or without a daemon."""

    def open_trial_state(self) -> AbstractContextManager[Database]:
        """Open one state of the journal, in which the block may make private changes."""

    def open_page_reads(self, longest: float) -> PageReads:
        """Open the journal read-only for the page; cut off a read after ``longest`` seconds."""
