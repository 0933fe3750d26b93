"""Remember that a collector takes nothing: how long to wait, and what the operator should know."""

from collections.abc import Callable
from dataclasses import dataclass

import anyio
import structlog

SHORTEST, LONGEST = 1.0, 300.0  # seconds between two tries
PATIENCE = 300.0  # seconds without success after which the operator is told
HINT = (
    "the collector at {server} has not taken {signal} for {minutes:.0f} minutes ({problem}); check"
    " it and the OTEL_EXPORTER_OTLP_ settings. {loss}"
)
log = structlog.get_logger()


@dataclass
class CollectorTrouble:
    """The failures in a row of one signal. ``jitter`` is a factor for waits.

    ``loss`` is a sentence about what is lost meanwhile.
    """

    server: str
    signal: str
    loss: str
    jitter: Callable[[], float]
    failures: int = 0
    problem: str = ""
    since: float = 0.0  # by the clock of the event loop

    def failed(self, problem: str, wait: float | None = None) -> float:
        """Note a failure; return the seconds to wait, at least ``wait``."""
        if not self.failures:
            self.since = anyio.current_time()
        if problem != self.problem:
            facts = {"server": self.server, "signal": self.signal}
            log.warning("collector_failed", **facts, problem=problem)
        self.problem = problem
        backoff = min(LONGEST, SHORTEST * 2.0 ** min(self.failures, 10)) * self.jitter()
        self.failures += 1
        return max(backoff, wait or 0.0)

    def worked(self) -> None:
        if self.failures:
            log.info("collector_works", server=self.server, signal=self.signal)
        self.failures, self.problem = 0, ""

    def hints(self) -> tuple[str, ...]:
        lasts = anyio.current_time() - self.since
        if not self.failures or lasts < PATIENCE:
            return ()
        facts = {"server": self.server, "signal": self.signal, "problem": self.problem}
        return (HINT.format(minutes=lasts / 60, loss=self.loss, **facts),)
