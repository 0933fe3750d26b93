"""People, Telegram and what tools did, as they survive the simulated daemon's lives."""

from collections.abc import Callable
from random import Random

from orchestrator.selftest.ledger import Ledger, LedgerEvent
from orchestrator.selftest.scenario import Scenario
from orchestrator.selftest.world import World
from orchestrator.simulator.unreliable_platform import UnreliablePlatform
from orchestrator.wakeup import Wakeup

EPOCH = 1_770_000_000  # seconds; when every history begins


class MemoryLedger(Ledger):
    """A ledger without a file; ``clock`` returns milliseconds since the epoch."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._events: list[LedgerEvent] = []
        self._clock = clock

    def append(self, kind: str, text: str = "", number: int = 0, chat: int = 0) -> None:
        self._events.append(LedgerEvent(kind, text, number, chat, self._clock()))

    def append_once(self, kind: str, text: str) -> None:
        if not any((event.kind, event.text) == (kind, text) for event in self._events):
            self.append(kind, text)

    def events(self) -> tuple[LedgerEvent, ...]:
        return tuple(self._events)


class SimulatedWorld(World):
    """Everything outside the daemon.

    ``drift`` is how far the wall clock is off, ``server_start`` how long tool servers take until
    they are ready, both in seconds.
    """

    def __init__(self, scenario: Scenario, chance: Random) -> None:
        self._time: Callable[[], float] = lambda: EPOCH
        self.drift = 0.0
        self.server_start = 0.0
        super().__init__(scenario, MemoryLedger(self.clock))
        self.platform = UnreliablePlatform(self.bot, chance)

    def clock(self) -> int:
        """Return the wall clock in milliseconds since the epoch."""
        return round((self._time() + self.drift) * 1000)

    def begin_life(self, alive: Callable[[], bool], time: Callable[[], float]) -> None:
        """Serve the next daemon: ``time`` returns seconds since the epoch."""
        self.bot.changes = Wakeup()  # nothing of the last daemon waits any more
        self.platform.begin_life(alive)
        self._time = time

    def say(self, name: str) -> None:
        self._send(self.scenario[name])

    def repeat(self, name: str) -> None:
        """Let Telegram send a message's update twice, unless it is confirmed."""
        for event in self.ledger.events():
            if (event.kind, event.text) == ("said", name):
                self.bot.deliver_twice(event.number)
