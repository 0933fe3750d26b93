"""Notify browsers of changes, so that they fetch the same address again.

An event only says that what a window shows has changed, so lost or merged events do no harm.
Growing answers are the exception: the newest text of each replaces the one before.

Where: is the page kept live?
"""

from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field

import anyio
import orjson

from orchestrator.extensions.page.daemon_side.page_protocol import (
    CHANGED,
    VIEW,
    WATCH,
    ChatKeys,
    ChatView,
)
from orchestrator.extensions.page.html.markdown import render_growing_markdown
from orchestrator.extensions.page.redraws import RedrawMark
from orchestrator.wakeup import Wakeup
from thinker.protocol.peer import Peer

POLL_SECONDS = 0.1  # between two checks of the journal while a stream is open
KEEP_ALIVE_SECONDS = 15.0  # after which an empty line shows that the stream lives
MAX_PER_SESSION, MAX_STREAMS = 4, 64  # open streams; a browser has six connections to a host


@dataclass
class LiveWindow:
    """An open window: its session, the key of a chat that it shows, and the mark that it ``seen``.

    ``read_mark`` returns the mark of what it would show now, ``find_wait`` the seconds until a
    redraw of a change to be seen soon or later.
    """

    session: str
    chat: str = ""
    seen: str = ""
    read_mark: Callable[[], Awaitable[RedrawMark]] | None = None
    find_wait: Callable[[bool], float] = lambda _: 0.0


@dataclass
class LiveFeed:
    """The events for open streams; ``version`` returns a number that changes with each commit.

    ``look`` gets the open chats whenever they change.
    """

    version: Callable[[], int]
    look: Callable[[frozenset[str]], None] = lambda _: None
    _streams: dict[str, list[object]] = field(default_factory=dict, init=False)  # oldest first
    _chats: Counter[str] = field(default_factory=Counter, init=False)
    _texts: dict[str, ChatView] = field(default_factory=dict, init=False)  # by chat
    _changes: Wakeup = field(default_factory=Wakeup, init=False)
    _seen: int = field(default=0, init=False)
    _daemon: int = field(default=0, init=False)  # changes outside of the journal

    @classmethod
    def follow_daemon(cls, version: Callable[[], int], peer: Peer) -> "LiveFeed":
        """Make a feed that also gets the daemon's events, and reports the open chats to it."""
        feed = cls(version, lambda chats: peer.notify(WATCH, ChatKeys(keys=tuple(chats))))
        peer.notifications[CHANGED] = lambda _: feed.record_change()
        peer.notifications[VIEW] = lambda view: feed.update_answer_text(
            ChatView.model_validate(view)
        )
        return feed

    @property
    def changes_outside(self) -> int:
        """How often something changed that is not in the journal."""
        return self._daemon

    @property
    def open_streams(self) -> int:
        return sum(map(len, self._streams.values()))

    def record_change(self) -> None:
        """Record a change outside of the journal."""
        self._daemon += 1
        self._changes.wake()

    def find_answer_text(self, turn_id: str) -> str:
        """Return the text so far of a turn's answer, in an open chat."""
        found = (view.text for view in self._texts.values() if view.turn_id == turn_id)
        return next(found, "")

    def update_answer_text(self, view: ChatView) -> None:
        """Update the text of an answer."""
        if self._chats[view.key]:
            self._texts[view.key] = view
            self._changes.wake()

    def has_free_stream(self) -> bool:
        """Return whether one more stream may be opened; streams being closed do not count."""
        return sum(min(len(own), MAX_PER_SESSION) for own in self._streams.values()) < MAX_STREAMS

    async def watch_journal(self) -> None:
        """Watch the journal while a stream is open, until cancelled."""
        while True:
            await anyio.sleep(POLL_SECONDS)
            if self.open_streams and self.version() != self._seen:
                self._seen = self.version()
                self._changes.wake()

    async def stream_events(self, window: LiveWindow) -> AsyncGenerator[bytes]:
        """Yield the events of a window; the first confirms the stream.

        A session has at most `MAX_PER_SESSION` streams: one more closes the oldest, whose window
        then polls.
        """
        session, chat = window.session, window.chat
        own, streams = object(), self._streams.setdefault(session, [])
        streams.append(own)
        self._count_chat_streams(chat, 1)
        self._changes.wake()
        try:
            yield b"retry: 1000\n\n"
            told, view, next_look = RedrawMark("", window.seen), None, 0.0
            while True:
                changed = self._changes.changed
                if own not in streams[-MAX_PER_SESSION:]:
                    yield _encode_event("full", MAX_PER_SESSION)
                    return
                if (newest := self._texts.get(chat)) is not view and newest is not None:
                    view = newest
                    yield _encode_event(
                        "text", {"turn": view.turn_id, "html": render_growing_markdown(view.text)}
                    )
                    await anyio.sleep(2 * POLL_SECONDS)  # at most five a second
                    continue
                await anyio.sleep_until(next_look)  # at most ten a second
                next_look = anyio.current_time() + POLL_SECONDS
                mark, wait = await self._read_mark(window), KEEP_ALIVE_SECONDS
                if mark.whole == told.whole:
                    told = mark
                elif (wait := window.find_wait(mark.soon != told.soon)) <= 0:
                    told = mark
                    yield _encode_event("changed", mark.whole)
                    continue
                with anyio.move_on_after(min(wait, KEEP_ALIVE_SECONDS)) as silence:
                    await changed.wait()
                if silence.cancelled_caught and wait >= KEEP_ALIVE_SECONDS:
                    yield b": still here\n\n"
        finally:
            streams.remove(own)
            if not streams:
                del self._streams[session]
            self._count_chat_streams(chat, -1)

    async def _read_mark(self, window: LiveWindow) -> RedrawMark:
        if window.read_mark is not None:
            return await window.read_mark()
        return RedrawMark("", f"{self.version()}.{self._daemon}")

    def _count_chat_streams(self, chat: str, streams: int) -> None:
        """Count the streams that show a chat; report the first and the last one."""
        if not chat:
            return
        before = self._chats[chat]
        self._chats[chat] += streams
        if not (before and self._chats[chat]):
            if not self._chats[chat]:
                self._texts.pop(chat, None)
            self.look(frozenset(key for key, count in self._chats.items() if count))


def _encode_event(name: str, data: object) -> bytes:
    return f"event: {name}\ndata: ".encode() + orjson.dumps(data, default=str) + b"\n\n"
