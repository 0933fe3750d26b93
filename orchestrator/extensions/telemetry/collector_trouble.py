"""Track a failing collector: how long to wait, and what to tell the operator."""

from collections.abc import Callable
from dataclasses import dataclass

import anyio
import structlog

MIN_WAIT_SECONDS, MAX_WAIT_SECONDS = 1.0, 300.0  # between two tries
HINT_AFTER_SECONDS = 300.0  # without success after which the operator gets a hint
HINT = (
    "the collector at {server} has not accepted {signal} for {minutes:.0f} minutes ({problem});"
    " check it and the OTEL_EXPORTER_OTLP_ settings. {loss}"
)
log = structlog.get_logger()


@dataclass
class CollectorTrouble:
    """Consecutive failures of one signal; ``jitter`` is a factor for waits.

    ``loss`` is a sentence about data lost meanwhile.
    """

    server: str
    signal: str
    loss: str
    jitter: Callable[[], float]
    failures: int = 0
    problem: str = ""
    since: float = 0.0  # by the clock of the event loop

    def record_failure(self, problem: str, wait: float | None = None) -> float:
        """Record a failure; return the seconds to wait, at least ``wait``."""
        if not self.failures:
            self.since = anyio.current_time()
        if problem != self.problem:
            facts = {"server": self.server, "signal": self.signal}
            log.warning("collector_failed", **facts, problem=problem)
        self.problem = problem
        backoff = (
            min(MAX_WAIT_SECONDS, MIN_WAIT_SECONDS * 2.0 ** min(self.failures, 10)) * self.jitter()
        )
        self.failures += 1
        return max(backoff, wait or 0.0)

    def record_success(self) -> None:
        if self.failures:
            log.info("collector_works", server=self.server, signal=self.signal)
        self.failures, self.problem = 0, ""

    def list_hints(self) -> tuple[str, ...]:
        lasts = anyio.current_time() - self.since
        if not self.failures or lasts < HINT_AFTER_SECONDS:
            return ()
        facts = {"server": self.server, "signal": self.signal, "problem": self.problem}
        return (HINT.format(minutes=lasts / 60, loss=self.loss, **facts),)
