"""The answer of a turn while it is written, between the turn and its chat."""

from collections.abc import Callable

from orchestrator.wakeup import Wakeup


class Preview:
    """The answer so far. Its chat begins to see it at some length, or never."""

    def __init__(self) -> None:
        self.text = ""
        self._grown = Wakeup()
        self._open = True
        self._begun = False
        self.view: Callable[[str], None] | None = None

    def show(self, text: str) -> None:
        if not self._open:
            return
        self.text = text
        if self.view is not None:
            self.view(text)
        self._grown.wake()

    def begin(self) -> bool:
        """Mark that the chat is about to see the answer; return false if that is too late."""
        self._begun = self._open
        return self._begun

    def withdraw(self) -> bool:
        """Close the preview unless its chat has begun to see it; return whether that worked."""
        self._open = self._open and self._begun
        return not self._begun

    def close(self) -> None:
        self._open = False

    async def longer_than(self, length: int) -> str:
        while len(self.text) <= length:
            await self._grown.changed.wait()
        return self.text
