"""Tell browsers that something changed; they ask for the same address again.

An event says that something changed, never what: one that is lost or merged costs nothing. Growing
answers are the exception: of each, the newest text replaces the one before.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import anyio
import orjson

from orchestrator.wakeup import Wakeup

POLL = 0.1  # seconds between two looks at the journal while a stream is open
SILENCE = 15.0  # seconds after which an empty line shows that the stream lives
OF_SESSION, IN_ALL = 8, 64  # open streams


@dataclass
class LiveFeed:
    """What open streams are told. ``version`` returns a number that changes with each commit."""

    version: Callable[[], int]
    _streams: Counter[str] = field(default_factory=Counter, init=False)
    _changes: Wakeup = field(default_factory=Wakeup, init=False)
    _seen: int = field(default=0, init=False)
    _daemon: int = field(default=0, init=False)  # changes outside of the journal

    @property
    def stamp(self) -> str:
        """A value that is another one after each change."""
        return f"{self.version()}.{self._daemon}"

    @property
    def open(self) -> int:
        return self._streams.total()

    def changed(self) -> None:
        """Take note of a change that is not in the journal."""
        self._daemon += 1
        self._changes.wake()

    def free(self, session: str) -> bool:
        """Return whether a session may open one more stream."""
        return self._streams[session] < OF_SESSION and self.open < IN_ALL

    async def watch(self) -> None:
        """Look at the journal while a stream is open, until canceled."""
        while True:
            await anyio.sleep(POLL)
            if self.open and self.version() != self._seen:
                self._seen = self.version()
                self._changes.wake()

    async def events(self, session: str) -> AsyncIterator[bytes]:
        """Yield the events of one stream; the first says that it is open."""
        self._streams[session] += 1
        try:
            yield b"retry: 1000\n\n"
            told = ""
            while True:
                changed = self._changes.changed
                if (stamp := self.stamp) != told:
                    told = stamp
                    yield b"event: changed\ndata: " + orjson.dumps(stamp) + b"\n\n"
                    await anyio.sleep(POLL)  # at most ten a second
                    continue
                with anyio.move_on_after(SILENCE) as silence:
                    await changed.wait()
                if silence.cancelled_caught:
                    yield b": still here\n\n"
        finally:
            self._streams[session] -= 1
