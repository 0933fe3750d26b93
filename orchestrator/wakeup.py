"""Waiting until something that others change has come to be so."""

from collections.abc import Awaitable, Callable

import anyio


class Wakeup:
    """Whoever changes it wakes; whoever waits looks again after each change.

    ``changed`` is set, and replaced, at every change: take it before you look, and wait for it
    afterwards.
    """

    def __init__(self) -> None:
        self.changed = anyio.Event()
        self._closed = False

    def wake(self) -> None:
        """Something has changed."""
        self.changed.set()
        self.changed = anyio.Event()

    def close(self) -> None:
        """The daemon stops: let everybody who waits go."""
        self._closed = True
        self.wake()

    async def until(
        self, reached: Callable[[], Awaitable[bool]], seconds: float | None = None
    ) -> None:
        """Wait until it is so, or the daemon stops, or so many seconds are over."""
        with anyio.move_on_after(seconds):
            while not self._closed:
                changed = self.changed
                if await reached():
                    return
                await changed.wait()
