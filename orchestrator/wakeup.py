"""Wait for a condition that other tasks change."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio

from orchestrator.loop_owned import LoopOwned


@dataclass(eq=False)
class Wakeup(LoopOwned):
    """Writers call `wake()`; waiters re-check their condition after every wake.

    Every wake sets ``changed`` and replaces it. Take it before checking the condition and wait for
    it afterwards, so that no change is missed.
    """

    changed: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _closed: bool = field(default=False, init=False)

    def wake(self) -> None:
        """Wake all waiters: something has changed."""
        self.changed.set()
        self.changed = asyncio.Event()

    def close(self) -> None:
        """End all waits, now and later: the daemon stops."""
        self._closed = True
        self.wake()

    async def until(
        self, reached: Callable[[], Awaitable[bool]], seconds: float | None = None
    ) -> None:
        """Wait until ``reached`` returns True, `close` is called or ``seconds`` have passed."""
        with anyio.move_on_after(seconds):
            while not self._closed:
                changed = self.changed
                if await reached():
                    return
                await changed.wait()


async def when_canceled(end: Callable[[], object]) -> None:
    """Wait until canceled, then call ``end``: for work that a cancellation does not reach."""
    try:
        await anyio.sleep_forever()
    finally:
        end()
