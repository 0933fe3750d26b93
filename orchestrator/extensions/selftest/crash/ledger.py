"""The ledger: an append-only file of what the outside world saw, one event per line.

Tool servers are separate processes that write to the same file, so events are read from there.
"""

import fcntl
import json
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class LedgerEvent:
    """One event; ``at`` is in milliseconds since the epoch.

    ======== =============== ======== ==================================
    kind     number          chat     text
    ======== =============== ======== ==================================
    said     update          chat     a person's message
    edited   update          chat     new words of a person's message
    decision update          chat     an operator's decision
    confirm  offset                   (updates below it are confirmed)
    shown    message         chat     present text of a message of the bot
    asked    step, from 0             script of a call of the model
    broken                            problem of a malformed transcript
    effect                            the effect's name
    keyed                             ``<idempotency key> <effect's name>``
    ======== =============== ======== ==================================
    """

    kind: str
    text: str = ""
    number: int = 0
    chat: int = 0
    at: int = 0


def find_confirmed_offset(events: Iterable[LedgerEvent]) -> int:
    """Return the newest offset that the bot confirmed."""
    return max((event.number for event in events if event.kind == "confirm"), default=0)


class Ledger:
    """A file of events."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch(mode=0o600)

    def append(self, kind: str, text: str = "", number: int = 0, chat: int = 0) -> None:
        """Append an event in one write, so that lines of several processes never mix."""
        event = LedgerEvent(kind, text, number, chat, time.time_ns() // 1_000_000)
        line = json.dumps(asdict(event)).encode() + b"\n"
        with self.path.open("ab", buffering=0) as file:
            file.write(line)

    def append_once(self, kind: str, text: str) -> None:
        """Append an event unless the file has it already."""
        with self.path.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not any((event.kind, event.text) == (kind, text) for event in self.read_events()):
                self.append(kind, text)

    def read_events(self) -> tuple[LedgerEvent, ...]:
        lines = self.path.read_text("utf-8").splitlines()
        return tuple(LedgerEvent(**json.loads(line)) for line in lines)
