"""A history: the kills of a daemon's successive lives, as data and as text that repeats them."""

import re
from dataclasses import dataclass
from typing import TypeAlias

from orchestrator.errors import ConfigError
from orchestrator.failpoints import BROKER, SESSION, SUPERVISOR, WORKER

KILL = re.compile(rf"({SUPERVISOR}|{WORKER}|{BROKER}|{SESSION})@(?:(\d+)ms|([\w:]+#\d+))")


@dataclass(frozen=True)
class Kill:
    """One SIGKILL: at a boundary (``plan:before#2``), or ``ms`` milliseconds after the start.

    The victim `SESSION` is ended by its server.
    """

    victim: str
    place: str = ""
    ms: int = 0

    def __str__(self) -> str:
        return f"{self.victim}@{self.place or f'{self.ms}ms'}"


Life: TypeAlias = tuple[Kill, ...]
History: TypeAlias = tuple[Life, ...]  # the daemon is restarted between two lives


def format_history(history: History) -> str:
    """Format a history: ``supervisor@plan:before#2;worker@300ms,supervisor@edit:after#1``."""
    return ";".join(",".join(map(str, life)) for life in history)


def parse_history(text: str) -> History:
    """Parse the format of `format_history`.

    Raises:
        ConfigError: the text has another form.
    """
    return tuple(tuple(map(_parse_kill, life.split(","))) for life in text.split(";"))


def _parse_kill(text: str) -> Kill:
    found = KILL.fullmatch(text.strip())
    if found is None:
        raise ConfigError(
            f"--history: {text!r} is not a kill; write supervisor@plan:before#2 or worker@300ms"
        )
    return Kill(found[1], found[3] or "", int(found[2] or 0))
