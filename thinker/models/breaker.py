"""A circuit breaker: stop calling an endpoint that keeps failing.

While the breaker is open, calls to the endpoint's models fail immediately, so that fallbacks answer
without delay and a provider in trouble is not hit by every turn.

Where: is a failing model skipped for a while?
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import anyio
import structlog

from thinker.models.base import ModelRequest, ModelResponse, ModelWrapper
from thinker.worker_errors import CircuitOpenError, ModelError, RetryableModelError

THRESHOLD = 5  # failures in a row
COOLDOWN = 60.0  # seconds before a probe
log = structlog.get_logger()


@dataclass
class Breaker:
    """The state of one endpoint. Times are seconds of the clock that ``now`` is read from.

    Closed: all requests pass. Open: none do. Half-open, after the cooldown: one request is a probe,
    and its outcome closes or reopens the breaker.
    """

    threshold: int = THRESHOLD
    cooldown: float = COOLDOWN
    _failures: int = 0
    _until: float | None = None  # if opened: the end of the cooldown
    _probing: bool = False

    def find_state(self, now: float) -> Literal["closed", "open", "half-open"]:
        if self._until is None:
            return "closed"
        return "open" if now < self._until else "half-open"

    def admit_request(self, now: float) -> bool:
        """Return whether to make a request, whose outcome is then to be recorded."""
        state = self.find_state(now)
        if state == "half-open" and not self._probing:
            self._probing = True
            return True
        return state == "closed"

    def record_success(self) -> None:
        """Record an answer; a refusal counts, since the endpoint works."""
        self._failures, self._until, self._probing = 0, None, False

    def record_failure(self, now: float) -> None:
        """Record a failure; the breaker ignores requests made before it opened."""
        self._failures += 1
        if self._probing or (self._until is None and self._failures >= self.threshold):
            self._until, self._probing = now + self.cooldown, False

    def record_cancellation(self) -> None:
        """Record a cancelled request, which says nothing about the endpoint."""
        self._probing = False

    def count_remaining_seconds(self, now: float) -> float:
        """Return the seconds until the next probe."""
        return max(0.0, (self._until or now) - now)


@dataclass(eq=False)
class CircuitBreakerModel(ModelWrapper):
    """A model whose requests pass through its endpoint's breaker."""

    breaker: Breaker
    clock: Callable[[], float] = anyio.current_time

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Make the call; raise `CircuitOpenError` if the breaker is open."""
        breaker = self.breaker
        if not breaker.admit_request(self.clock()):
            wait = breaker.count_remaining_seconds(self.clock())
            raise CircuitOpenError(f"{self.name} failed too often; the next try is in {wait:.0f} s")
        before = breaker.find_state(self.clock())
        try:
            response = await self.model.complete(request)
        except RetryableModelError:
            breaker.record_failure(self.clock())
            self._log_state_change(before)
            raise
        except ModelError:
            breaker.record_success()
            self._log_state_change(before)
            raise
        except BaseException:
            breaker.record_cancellation()
            raise
        breaker.record_success()
        self._log_state_change(before)
        return response

    def _log_state_change(self, before: str) -> None:
        after = self.breaker.find_state(self.clock())
        if after != before:
            log.warning("circuit_breaker", model=self.name, state=after)
