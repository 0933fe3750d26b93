"""Model wrappers that retry: one repeats a call, one falls back to another model.

Where: is a failed model call retried, after a 429 as well?
"""

import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import TypeVar

import anyio
import structlog

from thinker import worker_errors
from thinker.models.base import Model, ModelRequest, ModelResponse, ModelWrapper
from thinker.models.failures import format_headline
from thinker.models.tool_offers import offer_tools_as_text
from thinker.protocol.degradations import Degradation, cut_words
from thinker.protocol.notices import FailureKind

FIRST_DELAY_SECONDS = 1.0  # doubled with every attempt
MAX_DELAY_SECONDS = 60.0  # give up if a provider requests more
MORE_ATTEMPTS, MAX_ATTEMPTS = 2, 50  # beyond the usual, for a server that is starting
Answer = TypeVar("Answer")
log = structlog.get_logger()


def compute_delay(attempt: int, retry_after: float | None, rng: Callable[[], float]) -> float:
    """Return the seconds to wait after the ``attempt``-th failure (from 1).

    The wait is at least the one that the provider requests, plus jitter, so that agents do not
    retry in step.
    ``rng`` returns numbers from 0 to 1.
    """
    if retry_after is not None:
        return retry_after + FIRST_DELAY_SECONDS * rng()
    backoff = min(MAX_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2.0 ** (attempt - 1))
    return backoff * (0.5 + rng() / 2)


@dataclass(frozen=True, kw_only=True)
class Retries:
    """Repeats calls whose failures are retryable.

    Gives up after ``attempts``, if the provider requests a wait of more than `MAX_DELAY_SECONDS`,
    or if the next attempt would begin more than ``patience`` seconds after the first.
    """

    attempts: int = 4
    patience: float = 180.0
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    clock: Callable[[], float] = anyio.current_time
    rng: Callable[[], float] = random.random

    async def call_with_retries(self, model: str, call: Callable[[], Awaitable[Answer]]) -> Answer:
        """Call a model until it answers or a retry is useless; raise the last failure."""
        end = self.clock() + self.patience
        attempt, extra = 1, 0
        while True:
            try:
                return await call()
            except worker_errors.RetryableModelError as error:
                wait = compute_delay(attempt, error.retry_after, self.rng)
                too_long = (error.retry_after or 0.0) > MAX_DELAY_SECONDS
                # A server that was answering is starting again; one that loads its model says so.
                returning = error.kind is FailureKind.CUT or error.is_loading
                more = MORE_ATTEMPTS if returning or extra else 0
                extra = max(extra, MAX_ATTEMPTS if error.is_loading else more)
                if attempt >= self.attempts + extra or too_long or self.clock() + wait > end:
                    raise
                why = format_headline(error)
                log.warning(
                    "model_retry", model=model, attempt=attempt, wait=round(wait, 2), error=why
                )
            await self.sleep(wait)
            attempt += 1


STANDARD = Retries()


@dataclass(eq=False)
class RetryingModel(ModelWrapper):
    """A model whose retryable failures are retried."""

    retries: Retries = STANDARD

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Call the model until it answers or a retry is useless; raise the last failure."""
        return await self.retries.call_with_retries(
            self.name, partial(self.model.complete, request)
        )


@dataclass(eq=False)
class FallbackModel:
    """Calls the first model, and the next one whenever a model fails.

    A request that is too long goes only to a model that takes more, and one that a content filter
    rejected to none. If all fail, the first model whose failure tools may have caused is called
    once more with its tools offered as text.
    """

    models: Sequence[Model]

    @property
    def name(self) -> str:
        """The name of the first model; a response names the one that answered."""
        return self.models[0].name

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Call the models in order.

        Raises:
            AccountError: every model refused its key.
            ModelError: the last other failure, or a request that is too long.
        """
        over_tools: list[tuple[Model, worker_errors.ModelError]] = []
        failed: list[tuple[str, worker_errors.ModelError]] = []
        transient: worker_errors.ModelError | None = None  # the last failure that needs no operator
        for model, following in zip_longest(self.models, self.models[1:]):
            try:
                response = await model.complete(request)
            except worker_errors.FilteredError:
                raise
            except worker_errors.ModelError as error:
                if isinstance(error, worker_errors.ContextOverflowError) and not error.elsewhere:
                    raise
                failed.append((model.name, error))
                if error.over_tools and request.tools:
                    over_tools.append((model, error))
                if not isinstance(error, worker_errors.AccountError):
                    transient = error
                if following is None and not over_tools:
                    last = transient or error
                    last.degraded += _describe_failures(failed[:-1], "failed")
                    raise last from None
                log.warning(
                    "model_fallback",
                    model=model.name,
                    next_model=following.name if following else "tools as text",
                    error=format_headline(error),
                )
            else:
                if not failed:
                    return response
                lost = _describe_failures(failed, f"failed, and {model.name} answered")
                return replace(response, degraded=(*lost, *response.degraded))
        return await _offer_as_text(*over_tools[0], request)

    async def aclose(self) -> None:
        for model in self.models:
            await model.aclose()


def _describe_failures(
    failed: Sequence[tuple[str, worker_errors.ModelError]], what: str
) -> tuple[Degradation, ...]:
    return tuple(
        Degradation(kind="model", subject=name, what=what, words=cut_words(str(error)))
        for name, error in failed
    )


async def _offer_as_text(
    model: Model, error: worker_errors.ModelError, request: ModelRequest
) -> ModelResponse:
    offered = offer_tools_as_text(model)
    if offered is None:
        raise error
    response = await offered.complete(request)
    words = cut_words(str(error).partition(": ")[2])
    lost = Degradation(kind="tools", subject=model.name, what="offered as text", words=words)
    return replace(response, degraded=(*response.degraded, lost))
