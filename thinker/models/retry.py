"""Models around models: one asks again, one asks the next."""

import random
from collections.abc import Awaitable, Callable, Sequence
from itertools import zip_longest

import anyio
import structlog

from thinker.errors import AccountError, ContextOverflowError, ModelError, RetryableModelError
from thinker.models.base import Model, ModelRequest, ModelResponse, ModelWrapper
from thinker.models.failures import headline
from thinker.models.textonly import text_only

FIRST_DELAY = 1.0  # seconds, doubled with every attempt
LONGEST_DELAY = 60.0  # seconds; a provider that asks for more is given up

log = structlog.get_logger()


def delay(attempt: int, retry_after: float | None, rng: Callable[[], float]) -> float:
    """Seconds to wait after the ``attempt``-th failure (from 1).

    At least what the provider asked for, plus jitter, so that agents do not return together;
    ``rng`` gives numbers from 0 to 1.
    """
    if retry_after is not None:
        return retry_after + FIRST_DELAY * rng()
    backoff = min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** (attempt - 1))
    return backoff * (0.5 + rng() / 2)


class Retrying(ModelWrapper):
    """Asks a model again when that may help.

    It gives up after ``attempts``, when the provider asks to wait for longer than
    `LONGEST_DELAY`, and when the next attempt would begin more than ``patience`` seconds after
    the first.
    """

    def __init__(
        self,
        model: Model,
        attempts: int = 4,
        patience: float = 180.0,
        *,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        clock: Callable[[], float] = anyio.current_time,
        rng: Callable[[], float] = random.random,
    ) -> None:
        super().__init__(model)
        self._attempts = attempts
        self._patience = patience
        self._sleep = sleep
        self._clock = clock
        self._rng = rng

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Ask until it answers or asking again is of no use.

        Raises:
            ModelError: the last failure.
        """
        end = self._clock() + self._patience
        attempt = 1
        while True:
            try:
                return await self._model.complete(request)
            except RetryableModelError as error:
                wait = delay(attempt, error.retry_after, self._rng)
                if (
                    attempt >= self._attempts
                    or (error.retry_after or 0.0) > LONGEST_DELAY
                    or self._clock() + wait > end
                ):
                    raise
                log.warning(
                    "model_retry",
                    model=self.name,
                    attempt=attempt,
                    wait=round(wait, 2),
                    error=headline(error),
                )
            await self._sleep(wait)
            attempt += 1


class Fallback:
    """Asks the first model, and the next one whenever a model fails.

    A request that is too long is not passed on: it must be shortened, not sent elsewhere. When all
    failed, the first that may have failed over tools is asked once more without any: an answer in
    words from what was found so far is better than none.
    """

    def __init__(self, models: Sequence[Model]) -> None:
        self._models = tuple(models)

    @property
    def name(self) -> str:
        """The name of the first model; a response names the one that answered."""
        return self._models[0].name

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Ask in order.

        Raises:
            AccountError: no model takes its key.
            ModelError: the last other failure, or a request that is too long.
        """
        over_tools: list[Model] = []
        passing: ModelError | None = None  # a failure that no person has to mend
        for model, following in zip_longest(self._models, self._models[1:]):
            try:
                return await model.complete(request)
            except ContextOverflowError:
                raise
            except ModelError as error:
                if error.over_tools and request.tools:
                    over_tools.append(model)
                if not isinstance(error, AccountError):
                    passing = error
                if following is None and not over_tools:
                    raise passing or error from None
                log.warning(
                    "model_fallback",
                    model=model.name,
                    next_model=following.name if following else "text only",
                    error=headline(error),
                )
        return await over_tools[0].complete(text_only(request))

    async def aclose(self) -> None:
        """Close every model."""
        for model in self._models:
            await model.aclose()
