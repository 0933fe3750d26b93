"""A journal whose reads take time, as across a network."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import anyio.lowlevel

from orchestrator.journal.db.reader import JournalReader
from orchestrator.journal.db.store import Store
from orchestrator.loop_bound import mark_journal_job

T = TypeVar("T")
STEPS = 5  # of the event loop on the way there, and as many on the way back


class SuspendingReader(JournalReader):
    """A reader that suspends its callers, so that what they get may be outdated.

    Like a job of the writer, what it runs may not touch what belongs to the event loop.
    """

    async def __call__(self, work: Callable[..., T], *args: object) -> T:
        await _pass_time()
        try:
            with mark_journal_job():
                return await super().__call__(work, *args)
        finally:
            await _pass_time()


async def _pass_time() -> None:
    for _ in range(STEPS):
        await anyio.lowlevel.checkpoint()


Happens: TypeAlias = Callable[[object], Awaitable[bool]]


def interrupt_read(store: Store, work: Callable[..., object], happens: Happens) -> None:
    """Let something happen between a read and what its caller does then.

    ``happens`` gets what a read of ``work`` found, and returns whether it was the one to interrupt.
    """
    store.read = _Interrupted(store.read, work, happens)


def interrupt_transaction(store: Store, work: Callable[..., object], happens: Happens) -> None:
    """Do as `interrupt_read` between a transaction and what its caller does then."""
    store.transact = _Interrupted(store.transact, work, happens)  # type: ignore[method-assign]


@dataclass
class _Interrupted:
    """A journal's reader that is interrupted once."""

    reader: Callable[..., Awaitable[Any]]
    work: Callable[..., object]
    happens: Happens
    done: bool = False

    async def __call__(self, work: Callable[..., T], *args: object, **options: str) -> T:
        found: T = await self.reader(work, *args, **options)
        if work is self.work and not self.done:
            self.done = await self.happens(found)
            for _ in range(STEPS):  # so that all who were woken have looked
                await _pass_time()
        return found
