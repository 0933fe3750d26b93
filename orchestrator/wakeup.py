"""Wait for a condition that other tasks change."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio

from orchestrator.loop_bound import LoopBound


@dataclass(eq=False)
class Wakeup(LoopBound):
    """A condition's notifier: writers call `wake()`, and waiters re-check after every wake.

    Every wake sets ``changed`` and replaces it. Take it before checking the condition and wait for
    it afterwards, so that no change is missed. Once it ``is_closed``, waits end immediately.
    """

    changed: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    is_closed: bool = field(default=False, init=False)

    def wake(self) -> None:
        """Wake all waiters: something has changed."""
        self.changed.set()
        self.changed = asyncio.Event()

    def close(self) -> None:
        """End all current and future waits: the daemon stops."""
        self.is_closed = True
        self.wake()

    async def wait_until(
        self, reached: Callable[[], Awaitable[bool]], seconds: float | None = None
    ) -> None:
        """Wait until ``reached`` returns True, `close` is called or ``seconds`` have passed."""
        with anyio.move_on_after(seconds):
            while not self.is_closed:
                changed = self.changed
                if await reached():
                    return
                await changed.wait()


async def call_when_cancelled(end: Callable[[], object]) -> None:
    """Wait until cancelled, then call ``end``, for work that cancellation does not reach."""
    try:
        await anyio.sleep_forever()
    finally:
        end()
