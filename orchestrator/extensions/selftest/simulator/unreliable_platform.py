"""Telegram as the simulated daemon reaches it: a network that misbehaves by a course's events."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from operator import itemgetter
from random import Random
from urllib.parse import urlsplit

import anyio

from orchestrator.extensions.selftest.crash.fake_telegram import build_error_body
from orchestrator.extensions.selftest.crash.world import LedgerBot
from orchestrator.extensions.selftest.simulator.history_plan import PlannedEvent
from orchestrator.journal.turns.outbox import LATE_EDIT
from orchestrator.testing.loopback import ForeignJson
from thinker.http.exchange import NO_HEADERS, BrokenAnswerError, ConnectError, WholeAnswer

RETRY_AFTER = (1, 5, 30)  # seconds
LATENCY = (0.001, 0.08)  # seconds in each direction
SLOW = 8.0  # seconds, at most
LATE = LATE_EDIT / 1000  # seconds; nothing is promised about edits that arrive even later
ROUNDING = 0.01  # seconds
LIKELY = 0.66  # probability that a request fails during an outage


class UnreliablePlatform:
    """Answers the Bot API's requests.

    ``faults`` counts those that failed, ``impatient`` has the requests that came before a flood was
    over.
    """

    def __init__(self, bot: LedgerBot, chance: Random) -> None:
        self._bot = bot
        self._chance = chance
        self._outages: list[PlannedEvent] = []
        self._alive: Callable[[], bool] = lambda: True
        self._floods: dict[int, tuple[float, float]] = {}  # start and end, keyed by chat
        self._on_the_way: list[tuple[float, str, ForeignJson]] = []
        self.faults = 0
        self.impatient: list[str] = []

    def begin_life(self, alive: Callable[[], bool]) -> None:
        """Serve the next daemon; ``alive`` returns False once the daemon was killed."""
        self._alive = alive
        self._outages.clear()
        self._floods.clear()

    @contextmanager
    def apply_outage(self, outage: PlannedEvent) -> Iterator[None]:
        """Misbehave as an event says, while the block lasts."""
        self._outages.append(outage)
        try:
            yield
        finally:
            self._outages.remove(outage)

    async def send(
        self, method: str, url: str, headers: Mapping[str, str] = NO_HEADERS, body: bytes = b""
    ) -> WholeAnswer:
        """Answer a request, sooner or later, or let the request fail; see `Network.send`."""
        del method, headers
        path, params = urlsplit(url).path, json.loads(body or b"{}")
        self._check_patience(path, params)
        await anyio.sleep(self._chance.uniform(*LATENCY))
        outage = self._choose_outage(params)
        if outage is None:
            return await self._forward_request(path, params)
        self.faults += 1
        return await self._apply_fault(outage.name, path, params)

    def close(self) -> None:
        """Do nothing: nothing is kept open."""

    def _choose_outage(self, body: ForeignJson) -> PlannedEvent | None:
        """Return the outage that a request meets."""
        met = [event for event in self._outages if event.chat in (0, body.get("chat_id"))]
        return self._chance.choice(met) if met and self._chance.random() < LIKELY else None

    async def _apply_fault(self, how: str, path: str, body: ForeignJson) -> WholeAnswer:
        match how:
            case "slow":
                return await self._answer_late(path, body)
            case "late_error":  # it happens all the same
                await self._forward_request(path, body)
                return _build_error(502, "Bad Gateway")
            case "cut":  # it happens all the same
                await self._forward_request(path, body)
                raise BrokenAnswerError("the connection was reset")
            case "flood":
                return self._refuse_flood(body)
            case "error":
                return _build_error(500, "Internal Server Error")
            case "refused":
                raise ConnectError("connection refused")
        await anyio.sleep_forever()
        raise AssertionError

    async def _answer_late(self, path: str, body: ForeignJson) -> WholeAnswer:
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
        return await self._forward_request(path, body)

    async def deliver_late_edits(self) -> None:
        """Deliver the edits that were on the way when the last daemon died."""
        late, self._on_the_way = sorted(self._on_the_way, key=itemgetter(0)), []
        for due, path, body in late:
            await anyio.sleep_until(due)
            await self._bot.answer_request(path, body)

    def _refuse_flood(self, body: ForeignJson) -> WholeAnswer:
        seconds, now = self._chance.choice(RETRY_AFTER), anyio.current_time()
        chat = body.get("chat_id")
        if isinstance(chat, int):
            until = self._floods.get(chat, (0.0, 0.0))[1]
            self._floods[chat] = (now, max(until, now + seconds))
        return _build_error(429, "Too Many Requests", seconds)

    def _check_patience(self, path: str, body: ForeignJson) -> None:
        """Note a request that the daemon began although it knew of a flood in the chat."""
        told, until = self._floods.get(body.get("chat_id", 0), (0.0, 0.0))
        now = anyio.current_time()
        if told < now < until - ROUNDING:
            method = path.rpartition("/")[2]
            self.impatient.append(f"{method} came {until - now:.1f} s before the flood was over")

    async def _forward_request(self, path: str, body: ForeignJson) -> WholeAnswer:
        if not self._alive():  # the request never left
            await anyio.sleep_forever()
        status, content = await self._bot.answer_request(path, body)
        await anyio.sleep(self._chance.uniform(*LATENCY))
        return WholeAnswer(status, content)


def _build_error(status: int, description: str, retry_after: int | None = None) -> WholeAnswer:
    parameters = None if retry_after is None else {"retry_after": retry_after}
    return WholeAnswer(status, build_error_body(status, description, parameters))
