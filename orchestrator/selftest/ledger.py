"""The ledger: what the outside world saw, one line per event, only ever appended.

Tool servers are processes of their own and write to the same file, so it is read back from there.
"""

import fcntl
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class LedgerEvent:
    """One thing that happened; ``at`` in milliseconds since the epoch.

    ======== =============== ======== ==================================
    kind     number          chat     text
    ======== =============== ======== ==================================
    said     update          chat     what a person wrote
    word     update          chat     what an operator answered
    confirm  offset                   (an offset that was asked for)
    shown    message         chat     what a message of the bot now says
    asked    step, from 0             name of the script
    broken                            why a transcript is malformed
    effect                            the effect's name
    keyed                             ``<idempotency key> <effect's name>``
    ======== =============== ======== ==================================
    """

    kind: str
    text: str = ""
    number: int = 0
    chat: int = 0
    at: int = 0


class Ledger:
    """A file of events."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch(mode=0o600)

    def append(self, kind: str, text: str = "", number: int = 0, chat: int = 0) -> None:
        """Write an event down; one write, so that lines of several processes never mix."""
        event = LedgerEvent(kind, text, number, chat, time.time_ns() // 1_000_000)
        line = json.dumps(asdict(event)).encode() + b"\n"
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(file, line)
        finally:
            os.close(file)

    def append_once(self, kind: str, text: str) -> None:
        """Write an event down unless it stands there already, whoever wrote it."""
        with self.path.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not any((event.kind, event.text) == (kind, text) for event in self.events()):
                self.append(kind, text)

    def events(self) -> tuple[LedgerEvent, ...]:
        """Everything so far, in order."""
        lines = self.path.read_text("utf-8").splitlines()
        return tuple(LedgerEvent(**json.loads(line)) for line in lines)
