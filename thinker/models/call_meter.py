"""Measure one model call through its attempts, for the record of its step."""

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from thinker.models.failures import format_headline
from thinker.protocol.call_timing import CallAttempt, CallTiming
from thinker.worker_errors import ModelError


def _read_clock() -> int:
    return time.time_ns() // 1_000_000


def compute_body_digest(body: bytes) -> str:
    """Return 32 hexadecimal digits of the body's SHA-256, enough to tell two requests apart."""
    return hashlib.sha256(body).hexdigest()[:32]


@dataclass(eq=False)
class CallMeter:
    """The measurements of a call so far; ``clock`` returns milliseconds since the epoch."""

    clock: Callable[[], int] = _read_clock
    sent: int = 0
    got: int = 0
    effort: str = ""
    status: int | None = None  # of the newest attempt's answer
    left_out: tuple[str, ...] = ()  # fields of the body that the next attempt goes without
    _first: int | None = None
    _attempts: list[CallAttempt] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._began = self.clock()

    @contextmanager
    def measure_attempt(self, model: str, body: bytes) -> Iterator[None]:
        """Measure one request to a provider with this body."""
        began, error = self.clock(), "it was given up"
        self._first = self.status = None
        self.sent += len(body)
        try:
            yield
            error = ""
        except ModelError as failure:
            error = format_headline(failure)
            raise
        finally:
            made = CallAttempt(
                model=model,
                began=began,
                ended=self.clock(),
                status=self.status,
                error=error,
                digest=compute_body_digest(body),
                left_out=self.left_out,
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
