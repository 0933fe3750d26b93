"""A circuit breaker: an endpoint that keeps failing is left alone for a while.

While it is open its models are passed over at once, so that fallbacks answer without delay and a
provider in trouble is not hammered by every turn.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import anyio
import structlog

from thinker.errors import CircuitOpenError, ModelError, RetryableModelError
from thinker.models.base import Model, ModelRequest, ModelResponse, ModelWrapper

THRESHOLD = 5  # failures in a row; reference/annabelle.md §4, as is the next
COOLDOWN = 60.0  # seconds until one request may try again

log = structlog.get_logger()


@dataclass
class Breaker:
    """The state of one endpoint. Times are seconds of whatever clock ``now`` is read from.

    Closed: everybody asks. Open: nobody does. Half-open (its time is up): one request tries, and
    its outcome closes or opens it.
    """

    threshold: int = THRESHOLD
    cooldown: float = COOLDOWN
    _failures: int = 0
    _until: float | None = None  # when it was opened: the end of its time
    _probing: bool = False

    def state(self, now: float) -> Literal["closed", "open", "half-open"]:
        """Where it stands."""
        if self._until is None:
            return "closed"
        return "open" if now < self._until else "half-open"

    def admit(self, now: float) -> bool:
        """Whether a request may be made; it must then be followed by one of the other calls."""
        state = self.state(now)
        if state == "half-open" and not self._probing:
            self._probing = True
            return True
        return state == "closed"

    def succeeded(self) -> None:
        """The endpoint answered, be it with a refusal."""
        self._failures, self._until, self._probing = 0, None, False

    def failed(self, now: float) -> None:
        """It did not; what was asked before it opened and fails only now changes nothing."""
        self._failures += 1
        if self._probing or (self._until is None and self._failures >= self.threshold):
            self._until, self._probing = now + self.cooldown, False

    def abandoned(self) -> None:
        """The request was cancelled: nothing is known."""
        self._probing = False

    def remaining(self, now: float) -> float:
        """Seconds until somebody may try."""
        return max(0.0, (self._until or now) - now)


class CircuitBreakerModel(ModelWrapper):
    """A model whose requests go through the breaker of its endpoint."""

    def __init__(
        self, model: Model, breaker: Breaker, clock: Callable[[], float] = anyio.current_time
    ) -> None:
        super().__init__(model)
        self._breaker = breaker
        self._clock = clock

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Ask, unless the endpoint is to be left alone.

        Raises:
            CircuitOpenError: it is.
            ModelError: the failure.
        """
        breaker = self._breaker
        if not breaker.admit(self._clock()):
            wait = breaker.remaining(self._clock())
            raise CircuitOpenError(f"{self.name} failed too often; left alone for {wait:.0f} s")
        before = breaker.state(self._clock())
        try:
            response = await self._model.complete(request)
        except RetryableModelError:
            breaker.failed(self._clock())
            self._note(before)
            raise
        except ModelError:
            breaker.succeeded()
            self._note(before)
            raise
        except BaseException:
            breaker.abandoned()
            raise
        breaker.succeeded()
        self._note(before)
        return response

    def _note(self, before: str) -> None:
        """One line for each change."""
        after = self._breaker.state(self._clock())
        if after != before:
            log.warning("circuit_breaker", model=self.name, state=after)
