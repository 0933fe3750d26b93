"""The growing text of an answer, between whoever makes it and whoever shows it."""

from collections.abc import Callable

import anyio


class Preview:
    """What a turn has said so far. Its chat begins to see it at some length, or never."""

    def __init__(self) -> None:
        self.text = ""
        self._changed = anyio.Event()
        self._open = True
        self._begun = False
        self.view: Callable[[str], None] | None = None

    def show(self, text: str) -> None:
        """The answer so far."""
        if not self._open:
            return
        self.text = text
        if self.view is not None:
            self.view(text)
        self._changed.set()

    def begin(self) -> bool:
        """Its chat is about to see it; false when that is too late."""
        self._begun = self._open
        return self._begun

    def withdraw(self) -> bool:
        """Show nothing any more, unless its chat has begun to see it; whether it has not."""
        self._open = self._open and self._begun
        return not self._begun

    def close(self) -> None:
        """Show nothing any more."""
        self._open = False

    async def longer_than(self, length: int) -> str:
        """The text once it has more characters than that."""
        while len(self.text) <= length:
            self._changed = anyio.Event()
            await self._changed.wait()
        return self.text
