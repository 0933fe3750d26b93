"""The answer of a turn while it is written, between the turn and its chat."""

import asyncio
from collections.abc import Callable

from orchestrator.wakeup import Wakeup


class Preview:
    """The answer so far. ``offered`` tells the chat's queue to show it."""

    def __init__(self, turn_id: str) -> None:
        self.turn_id = turn_id
        self.text = ""
        self.offered = False
        self.closed = asyncio.Event()
        self._grown = Wakeup()
        self._refused = False
        self.view: Callable[[str], None] | None = None

    def show(self, text: str) -> None:
        if self.closed.is_set():
            return
        self.text = text
        if self.view is not None:
            self.view(text)
        self._grown.wake()

    def offer(self) -> None:
        self.offered = not (self._refused or self.closed.is_set())

    def refuse(self) -> None:
        """Show no more of the answer before it is whole: the chat did not take it."""
        self._refused, self.offered = True, False

    def close(self) -> None:
        self.closed.set()
        self.offered = False
        self._grown.wake()

    async def longer_than(self, length: int) -> str:
        """Wait until the answer is longer, or is not written any more, and return it."""
        while len(self.text) <= length and not self.closed.is_set():
            await self._grown.changed.wait()
        return self.text
