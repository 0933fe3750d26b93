"""What the Telegram adapter hands messages to, in memory, and its clocks."""

from collections.abc import Mapping, Sequence

import anyio
from fakes.time_limit import time_limit

from orchestrator.channel_api import PRESS, InboundMessage
from orchestrator.errors import JournalError


class Inbox:
    """An intake in memory; ``full`` makes it refuse, ``hangs`` never answer."""

    def __init__(self, offset: int = 0) -> None:
        self.stored: list[InboundMessage] = []
        self.next_offset = offset
        self.full = self.hangs = False
        self.known: dict[str, str] = {}  # first ids of moved chats by the new ones
        self._grown = anyio.Event()

    async def load_offset(self, channel: str, bot_id: str) -> int:
        """The stored offset."""
        assert (channel, bot_id) == ("telegram", "123456")
        return self.next_offset

    async def load_cursor(self, channel: str, bot_id: str) -> str:
        """Never asked: Telegram counts."""
        raise AssertionError((channel, bot_id))

    async def store_cursor(self, channel: str, bot_id: str, cursor: str) -> None:
        """Never called."""
        raise AssertionError((channel, bot_id, cursor))

    async def list_chat_moves(self, channel: str) -> dict[str, str]:
        """The moves that are stored."""
        assert channel == "telegram"
        return dict(self.known)

    async def record_chat_move(self, channel: str, bot_id: str, old_id: str, new_id: str) -> None:
        """Store a move, before any update of its batch."""
        assert (channel, bot_id) == ("telegram", "123456")
        assert all(message.chat_id != new_id for message in self.stored)
        self.known[new_id] = old_id

    async def accept(
        self, messages: Sequence[InboundMessage], offset: int | str | None = None
    ) -> Mapping[str, str]:
        """Store, or refuse whole; a press is answered with its text."""
        if self.hangs:
            await anyio.sleep_forever()
        if self.full:
            raise JournalError("storage full; free space")
        self.stored.extend(messages)
        self.next_offset = offset if isinstance(offset, int) else self.next_offset
        self._grown.set()
        self._grown = anyio.Event()
        return {found.message_id: found.text for found in messages if found.kind == PRESS}

    async def holds(self, count: int) -> None:
        """Wait until so many updates are stored."""
        with time_limit():
            while len(self.stored) < count:
                await self._grown.wait()

    @property
    def texts(self) -> list[str]:
        """What was said."""
        return [message.text for message in self.stored]


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []
        self.twice = anyio.Event()

    def __call__(self) -> float:
        """Seconds since the epoch."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Move on, and let others run."""
        self.slept.append(seconds)
        self.now += seconds
        if len(self.slept) > 1:
            self.twice.set()
        await anyio.lowlevel.checkpoint()


class HeldClock(Clock):
    """A clock whose sleeps last until a test ends them."""

    def __init__(self) -> None:
        super().__init__()
        self._begun, self._over = anyio.Event(), anyio.Event()

    async def sleep(self, seconds: float) -> None:
        """Wait for the test, then move on."""
        self.slept.append(seconds)
        self._begun.set()
        await self._over.wait()
        self._over = anyio.Event()
        self.now += seconds

    async def asleep(self) -> None:
        """Wait until a sleep has begun."""
        with time_limit():
            await self._begun.wait()

    async def pass_on(self) -> None:
        """End the present sleep, and wait for the next one."""
        await self.asleep()
        self._begun = anyio.Event()
        self._over.set()
        await self.asleep()
