"""Telegram as the simulated daemon reaches it: a network that misbehaves by a course's events."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from operator import itemgetter
from random import Random
from urllib.parse import urlsplit

import anyio

from orchestrator.journal.turns.outbox import LATE_EDIT
from orchestrator.selftest.fake_telegram import error_body
from orchestrator.selftest.loopback import ForeignJson
from orchestrator.selftest.world import LedgerBot
from orchestrator.simulator.course import CourseEvent
from thinker.http.exchange import NO_HEADERS, BrokenAnswerError, ConnectError, WholeAnswer

RETRY_AFTER = (1, 5, 30)  # seconds
LATENCY = (0.001, 0.08)  # seconds in each direction
SLOW = 8.0  # seconds, at most
LATE = LATE_EDIT / 1000  # seconds; what an edit does that arrives even later is not promised
ROUNDING = 0.01  # seconds
LIKELY = 0.66  # of a request to fail during an outage


class UnreliablePlatform:
    """Answers the Bot API's requests.

    ``faults`` counts those that failed, ``impatient`` has what came before a flood was over.
    """

    def __init__(self, bot: LedgerBot, chance: Random) -> None:
        self._bot = bot
        self._chance = chance
        self._outages: list[CourseEvent] = []
        self._alive: Callable[[], bool] = lambda: True
        self._floods: dict[int, tuple[float, float]] = {}  # by chat: from when until when
        self._on_the_way: list[tuple[float, str, ForeignJson]] = []
        self.faults = 0
        self.impatient: list[str] = []

    def begin_life(self, alive: Callable[[], bool]) -> None:
        """Serve the next daemon; ``alive`` returns false once it was killed."""
        self._alive = alive
        self._outages.clear()
        self._floods.clear()

    @contextmanager
    def failing(self, outage: CourseEvent) -> Iterator[None]:
        """Misbehave as an event says, while the block lasts."""
        self._outages.append(outage)
        try:
            yield
        finally:
            self._outages.remove(outage)

    async def send(
        self, method: str, url: str, headers: Mapping[str, str] = NO_HEADERS, body: bytes = b""
    ) -> WholeAnswer:
        """Answer a request, sooner or later, or let it fail; see `Network.send`."""
        del method, headers
        path, params = urlsplit(url).path, json.loads(body or b"{}")
        self._check_patience(path, params)
        await anyio.sleep(self._chance.uniform(*LATENCY))
        outage = self._outage(params)
        if outage is None:
            return await self._answered(path, params)
        self.faults += 1
        return await self._misbehave(outage.name, path, params)

    def close(self) -> None:
        """Nothing is kept."""

    def _outage(self, body: ForeignJson) -> CourseEvent | None:
        """Return the outage that a request meets."""
        met = [event for event in self._outages if event.chat in (0, body.get("chat_id"))]
        return self._chance.choice(met) if met and self._chance.random() < LIKELY else None

    async def _misbehave(self, how: str, path: str, body: ForeignJson) -> WholeAnswer:
        match how:
            case "slow":
                return await self._delayed(path, body)
            case "late_error":  # it happens all the same
                await self._answered(path, body)
                return _error(502, "Bad Gateway")
            case "cut":  # it happens all the same
                await self._answered(path, body)
                raise BrokenAnswerError("the connection was reset")
            case "flood":
                return self._flooded(body)
            case "error":
                return _error(500, "Internal Server Error")
            case "refused":
                raise ConnectError("connection refused")
        await anyio.sleep_forever()
        raise AssertionError

    async def _delayed(self, path: str, body: ForeignJson) -> WholeAnswer:
        """Answer after a while. An edit arrives even if its daemon dies meanwhile.

        A new message would then stand after later ones, which no sender could prevent.
        """
        edit = path.endswith("/editMessageText")
        due = anyio.current_time() + self._chance.uniform(0, LATE if edit else SLOW)
        request = (due, path, body)
        if edit:
            self._on_the_way.append(request)
        await anyio.sleep_until(due)
        if self._alive() and request in self._on_the_way:
            self._on_the_way.remove(request)
        return await self._answered(path, body)

    async def arrive(self) -> None:
        """Let the edits arrive that were on the way when the last daemon died."""
        late, self._on_the_way = sorted(self._on_the_way, key=itemgetter(0)), []
        for due, path, body in late:
            await anyio.sleep_until(due)
            await self._bot.answer(path, body)

    def _flooded(self, body: ForeignJson) -> WholeAnswer:
        seconds, now = self._chance.choice(RETRY_AFTER), anyio.current_time()
        chat = body.get("chat_id")
        if isinstance(chat, int):
            until = self._floods.get(chat, (0.0, 0.0))[1]
            self._floods[chat] = (now, max(until, now + seconds))
        return _error(429, "Too Many Requests", seconds)

    def _check_patience(self, path: str, body: ForeignJson) -> None:
        """Note a request that the daemon began although it knew of a flood in its chat."""
        told, until = self._floods.get(body.get("chat_id", 0), (0.0, 0.0))
        now = anyio.current_time()
        if told < now < until - ROUNDING:
            method = path.rpartition("/")[2]
            self.impatient.append(f"{method} came {until - now:.1f} s before the flood was over")

    async def _answered(self, path: str, body: ForeignJson) -> WholeAnswer:
        if not self._alive():  # its request never left
            await anyio.sleep_forever()
        status, content = await self._bot.answer(path, body)
        await anyio.sleep(self._chance.uniform(*LATENCY))
        return WholeAnswer(status, content)


def _error(status: int, description: str, retry_after: int | None = None) -> WholeAnswer:
    parameters = None if retry_after is None else {"retry_after": retry_after}
    return WholeAnswer(status, error_body(status, description, parameters))
