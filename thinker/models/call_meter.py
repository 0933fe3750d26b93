"""Measure one model call through its attempts, for the record of its step."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from thinker.models.failures import format_headline
from thinker.protocol.call_timing import CallAttempt, CallTiming
from thinker.worker_errors import ModelError


def _read_clock() -> int:
    return time.time_ns() // 1_000_000


@dataclass(eq=False)
class CallMeter:
    """The measurements of a call so far; ``clock`` returns milliseconds since the epoch."""

    clock: Callable[[], int] = _read_clock
    sent: int = 0
    got: int = 0
    effort: str = ""
    status: int | None = None  # of the newest attempt's answer
    _first: int | None = None
    _attempts: list[CallAttempt] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._began = self.clock()

    @contextmanager
    def measure_attempt(self, model: str, size: int) -> Iterator[None]:
        """Measure one request to a provider with a body of this size."""
        began, error = self.clock(), "it was given up"
        self._first = self.status = None
        self.sent += size
        try:
            yield
            error = ""
        except ModelError as failure:
            error = format_headline(failure)
            raise
        finally:
            made = CallAttempt(
                model=model, began=began, ended=self.clock(), status=self.status, error=error
            )
            self._attempts.append(made)

    def record_event(self) -> None:
        """Record that an event of the answer arrived."""
        if self._first is None:
            self._first = self.clock()

    def build_timing(self) -> CallTiming:
        """Return the measurements of a call that has just been answered."""
        return CallTiming(
            began=self._began,
            ended=self.clock(),
            first=self._first,
            attempts=tuple(self._attempts),
            sent=self.sent,
            got=self.got,
            effort=self.effort,
        )
