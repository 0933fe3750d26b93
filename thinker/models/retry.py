"""Model wrappers that retry: one repeats a call, one falls back to another model.

Where: is a failed model call retried, after a 429 as well?
"""

import random
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import TypeVar

import anyio
import orjson
import structlog

from thinker import worker_errors
from thinker.models.base import Model, ModelRequest, ModelResponse, ModelWrapper
from thinker.models.failures import format_headline
from thinker.protocol.degradations import Degradation, cut_words
from thinker.protocol.messages import AUTO, AssistantMessage, Message, ToolResult, UserMessage

FIRST_DELAY_SECONDS = 1.0  # doubled with every attempt
MAX_DELAY_SECONDS = 60.0  # give up if a provider requests more
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
        attempt = 1
        while True:
            try:
                return await call()
            except worker_errors.RetryableModelError as error:
                wait = compute_delay(attempt, error.retry_after, self.rng)
                too_long = (error.retry_after or 0.0) > MAX_DELAY_SECONDS
                if attempt >= self.attempts or too_long or self.clock() + wait > end:
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

    A request that is too long goes to no other model: it must be shortened. If all fail, the first
    model whose failure tools may have caused is called once more without tools: an answer in words
    is better than none.
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
        over_tools: list[Model] = []
        failed: list[tuple[str, worker_errors.ModelError]] = []
        transient: worker_errors.ModelError | None = None  # the last failure that needs no operator
        for model, following in zip_longest(self.models, self.models[1:]):
            try:
                response = await model.complete(request)
            except worker_errors.ContextOverflowError:
                raise
            except worker_errors.ModelError as error:
                failed.append((model.name, error))
                if error.over_tools and request.tools:
                    over_tools.append(model)
                if not isinstance(error, worker_errors.AccountError):
                    transient = error
                if following is None and not over_tools:
                    last = transient or error
                    last.degraded += _describe_failures(failed[:-1], "failed")
                    raise last from None
                log.warning(
                    "model_fallback",
                    model=model.name,
                    next_model=following.name if following else "text only",
                    error=format_headline(error),
                )
            else:
                if not failed:
                    return response
                lost = _describe_failures(failed, f"failed, and {model.name} answered")
                return replace(response, degraded=(*lost, *response.degraded))
        response = await over_tools[0].complete(make_text_only(request))
        words = cut_words(str(dict(failed)[over_tools[0].name]))
        tools = Degradation(kind="tools", what="were all left out", words=words)
        return replace(response, degraded=(tools, *response.degraded))

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


def make_text_only(request: ModelRequest) -> ModelRequest:
    """Return the request without tools, its earlier tool calls rewritten as text.

    Providers refuse tool calls in a transcript whose tools are not declared.
    """
    return replace(
        request,
        tools=(),
        tool_choice=AUTO,
        messages=tuple(_rewrite_tool_messages(request.messages)),
    )


def _rewrite_tool_messages(messages: Iterable[Message]) -> Iterator[Message]:
    for message in messages:
        if isinstance(message, ToolResult):
            result = f"[Result of {message.name}]\n{message.text}"
            yield UserMessage(content=result, images=message.images)
        elif isinstance(message, AssistantMessage) and message.tool_calls:
            calls = (
                f"[Called {call.name} with {orjson.dumps(call.arguments).decode()}]"
                for call in message.tool_calls
            )
            text = [message.content] if message.content else []
            yield AssistantMessage(content="\n".join([*text, *calls]))
        else:
            yield message
