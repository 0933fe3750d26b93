"""Wait for a condition that other tasks change."""

from collections.abc import Awaitable, Callable

import anyio


class Wakeup:
    """Writers call `wake()`; waiters re-check their condition after every wake.

    Every wake sets ``changed`` and replaces it. Take it before checking the condition and wait for
    it afterwards, so that no change is missed.
    """

    def __init__(self) -> None:
        self.changed = anyio.Event()
        self._closed = False

    def wake(self) -> None:
        """Wake all waiters: something has changed."""
        self.changed.set()
        self.changed = anyio.Event()

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
