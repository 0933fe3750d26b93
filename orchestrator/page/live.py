"""Tell browsers that something changed; they ask for the same address again.

An event says that something changed, never what: one that is lost or merged costs nothing. Growing
answers are the exception: of each, the newest text replaces the one before.
"""

from collections import Counter
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field

import anyio
import orjson

from orchestrator.control.page_protocol import ChatView
from orchestrator.page.html.markdown import growing
from orchestrator.wakeup import Wakeup

POLL = 0.1  # seconds between two looks at the journal while a stream is open
SILENCE = 15.0  # seconds after which an empty line shows that the stream lives
OF_SESSION, IN_ALL = 4, 64  # open streams; a browser has six connections to a host


@dataclass
class LiveFeed:
    """What open streams are told. ``version`` returns a number that changes with each commit.

    ``look`` is told the chats that are looked at, whenever they change.
    """

    version: Callable[[], int]
    look: Callable[[frozenset[str]], None] = lambda _: None
    _streams: dict[str, list[object]] = field(default_factory=dict, init=False)  # oldest first
    _chats: Counter[str] = field(default_factory=Counter, init=False)
    _texts: dict[str, ChatView] = field(default_factory=dict, init=False)  # by chat
    _changes: Wakeup = field(default_factory=Wakeup, init=False)
    _seen: int = field(default=0, init=False)
    _daemon: int = field(default=0, init=False)  # changes outside of the journal

    @property
    def stamp(self) -> str:
        """A value that is another one after each change."""
        return f"{self.version()}.{self._daemon}"

    @property
    def open(self) -> int:
        return sum(map(len, self._streams.values()))

    def changed(self) -> None:
        """Take note of a change that is not in the journal."""
        self._daemon += 1
        self._changes.wake()

    def text(self, turn_id: str) -> str:
        """Return the text so far of a turn's answer, in a chat that is looked at."""
        found = (view.text for view in self._texts.values() if view.turn_id == turn_id)
        return next(found, "")

    def grew(self, view: ChatView) -> None:
        """Take the newest text of an answer."""
        if self._chats[view.key]:
            self._texts[view.key] = view
            self._changes.wake()

    def free(self) -> bool:
        """Return whether one more stream may be opened; those that are ended do not count."""
        return sum(min(len(own), OF_SESSION) for own in self._streams.values()) < IN_ALL

    async def watch(self) -> None:
        """Look at the journal while a stream is open, until canceled."""
        while True:
            await anyio.sleep(POLL)
            if self.open and self.version() != self._seen:
                self._seen = self.version()
                self._changes.wake()

    async def events(self, session: str, chat: str = "") -> AsyncGenerator[bytes]:
        """Yield the events of one stream, which may show a chat; the first says that it is open.

        A session has `OF_SESSION` at most: one more ends the oldest, whose window then asks by
        itself from time to time.
        """
        own, streams = object(), self._streams.setdefault(session, [])
        streams.append(own)
        self._shown(chat, 1)
        self._changes.wake()
        try:
            yield b"retry: 1000\n\n"
            told, view = "", None
            while True:
                changed = self._changes.changed
                if own not in streams[-OF_SESSION:]:
                    yield _event("full", OF_SESSION)
                    return
                if (newest := self._texts.get(chat)) is not view and newest is not None:
                    view = newest
                    yield _event("text", {"turn": view.turn_id, "html": growing(view.text)})
                    await anyio.sleep(2 * POLL)  # at most five a second
                    continue
                if (stamp := self.stamp) != told:
                    told = stamp
                    yield _event("changed", stamp)
                    await anyio.sleep(POLL)  # at most ten a second
                    continue
                with anyio.move_on_after(SILENCE) as silence:
                    await changed.wait()
                if silence.cancelled_caught:
                    yield b": still here\n\n"
        finally:
            streams.remove(own)
            if not streams:
                del self._streams[session]
            self._shown(chat, -1)

    def _shown(self, chat: str, streams: int) -> None:
        """Count the streams that show a chat; tell of the first and the last one."""
        if not chat:
            return
        before = self._chats[chat]
        self._chats[chat] += streams
        if not (before and self._chats[chat]):
            if not self._chats[chat]:
                self._texts.pop(chat, None)
            self.look(frozenset(key for key, count in self._chats.items() if count))


def _event(name: str, data: object) -> bytes:
    return f"event: {name}\ndata: ".encode() + orjson.dumps(data, default=str) + b"\n\n"
