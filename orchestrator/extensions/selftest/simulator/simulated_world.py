"""People, Telegram and the tools' effects, which survive the simulated daemon's lives."""

from collections.abc import Callable
from random import Random

from orchestrator.extensions.selftest.crash.ledger import Ledger, LedgerEvent
from orchestrator.extensions.selftest.crash.scenario import GROUP, MENTION, Scenario
from orchestrator.extensions.selftest.crash.world import World, write_text
from orchestrator.extensions.selftest.simulator.unreliable_platform import UnreliablePlatform
from orchestrator.testing.loopback import ForeignJson
from orchestrator.wakeup import Wakeup
from orchestrator.watching import DEBOUNCE

EPOCH = 1_770_000_000  # seconds; when every history begins
OVERHEARD = "pssst between us"
EDIT_WITHIN = 20.0  # seconds in which an edit of agents.json applies to the next step


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

    def read_events(self) -> tuple[LedgerEvent, ...]:
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
        self._newest = 0  # revision of agents.json
        self._revisions: list[tuple[float, int]] = []  # that apply, and since when
        super().__init__(scenario, MemoryLedger(self.read_clock))
        self.platform = UnreliablePlatform(self.bot, chance)

    def read_clock(self) -> int:
        """Return the wall clock in milliseconds since the epoch."""
        return round((self._time() + self.drift) * 1000)

    def murmur(self, speaker: str) -> None:
        """Write in the group, but not to the bot, as a person or as another bot."""
        fields: ForeignJson = {}
        text = OVERHEARD
        if speaker == "robot":
            text = f"{MENTION} {OVERHEARD}"
            fields["entities"] = [{"type": "mention", "offset": 0, "length": len(MENTION)}]
            fields["from"] = {"id": 8, "is_bot": True, "first_name": "Robot"}
        number = self.bot.send_user_message(GROUP, text, **fields)
        self.ledger.append("murmured", speaker, number, GROUP)

    def note_revision(self, revision: int) -> None:
        """Note that agents.json has another revision from now on."""
        self._newest = revision
        self._revisions.append((self._time(), revision))

    def note_broken_file(self) -> None:
        """Note that agents.json cannot be read from now on.

        A revision that was replaced before a daemon looks at the file does not have to apply.
        """
        seen = self._time() - DEBOUNCE / 1000
        self._revisions = [revision for revision in self._revisions if revision[0] <= seen]

    def check_revision(self, revision: int) -> None:
        """Record a problem if a step was made under an outdated revision of agents.json."""
        begun = [number for at, number in self._revisions if at <= self._time() - EDIT_WITHIN]
        if revision < max(begun, default=0) or revision > self._newest:
            self.ledger.append("outdated", f"revision {revision} was used, of {self._revisions}")

    def begin_life(self, alive: Callable[[], bool], time: Callable[[], float]) -> None:
        """Serve the next daemon: ``time`` returns seconds since the epoch."""
        self.bot.changes = Wakeup()  # nothing of the last daemon waits any longer
        self.platform.begin_life(alive)
        self._time = time

    def send_script(self, name: str) -> None:
        self._send_script(self.scenario[name])

    def edit_message(self, name: str) -> None:
        """Edit a message that was sent, so that it reads as the script ``name``.

        Telegram dates the edit by its own clock, in seconds.
        """
        script = self.scenario[name]
        for event in self.ledger.read_events():
            if (event.kind, event.text) == ("said", script.corrects):
                text, date = write_text(script), int(self._time())
                number = self.bot.edit_user_message(event.number, text, date)
                self.ledger.append("edited", name, number, script.chat)

    def repeat_update(self, name: str) -> None:
        """Let Telegram send a message's update twice, unless it is confirmed."""
        for event in self.ledger.read_events():
            if event.kind in ("said", "edited") and event.text == name:
                self.bot.deliver_twice(event.number)
