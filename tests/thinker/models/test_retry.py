"""Retries and fallbacks."""

from collections.abc import Sequence
from contextlib import suppress

import pytest
import structlog

from thinker.models.base import ModelRequest, ModelResponse
from thinker.models.retry import (
    MAX_DELAY_SECONDS,
    FallbackModel,
    Retries,
    RetryingModel,
    compute_delay,
)
from thinker.protocol.messages import AssistantMessage, UserMessage
from thinker.protocol.notices import FailureKind
from thinker.worker_errors import (
    AccountError,
    ContextOverflowError,
    FatalModelError,
    FilteredError,
    ModelError,
    RetryableModelError,
)

REQUEST = ModelRequest(system="private prompt", messages=(UserMessage(content="secret"),))
PASSING = RetryableModelError("groq answered 503: secret words")


class Scripted:
    """A model that fails with these errors in turn and then answers."""

    def __init__(self, *errors: ModelError, name: str = "groq/m") -> None:
        self.name = name
        self.asked = 0
        self.closed = False
        self._errors = list(errors)

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Fail or answer with its name."""
        assert request is REQUEST
        self.asked += 1
        if self._errors:
            raise self._errors.pop(0)
        return ModelResponse(AssistantMessage(content=self.name))

    async def aclose(self) -> None:
        """Record the call."""
        self.closed = True


class Time:
    """A clock that only `sleep` advances."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sleeps: list[float] = []

    async def sleep(self, seconds: float) -> None:
        """Advance by ``seconds``."""
        self.sleeps.append(seconds)
        self.now += seconds


def retrying(model: Scripted, time: Time) -> RetryingModel:
    """Return the model with retries on a fake clock, jitter at its mean."""
    return RetryingModel(model, Retries(sleep=time.sleep, clock=lambda: time.now, rng=lambda: 0.5))


@pytest.mark.parametrize("attempt", range(1, 12))
def test_delays_double_up_to_a_limit_with_jitter(attempt: int) -> None:
    """Between half and the whole of 1, 2, 4 … 60 seconds."""
    whole = min(60.0, 2.0 ** (attempt - 1))
    assert compute_delay(attempt, None, lambda: 0.0) == whole / 2
    assert compute_delay(attempt, None, lambda: 1.0) == whole


def test_a_provider_is_never_asked_earlier_than_it_wants() -> None:
    """Jitter only adds to Retry-After."""
    assert compute_delay(1, 7.0, lambda: 0.0) == 7.0
    assert compute_delay(3, 7.0, lambda: 1.0) == 8.0


async def test_a_passing_failure_is_asked_again() -> None:
    """First with backoff, then after the requested wait, until the answer."""
    time = Time()
    model = Scripted(PASSING, RetryableModelError("x", 5.0))
    response = await retrying(model, time).complete(REQUEST)
    assert response.message.content == "groq/m"
    assert time.sleeps == [0.75, 5.5]


async def test_a_lasting_failure_is_not_asked_again() -> None:
    """A wrong key stays wrong."""
    model = Scripted(FatalModelError("x"))
    with pytest.raises(FatalModelError):
        await retrying(model, Time()).complete(REQUEST)
    assert model.asked == 1


async def test_retries_end_after_four_attempts() -> None:
    """The last failure is raised."""
    model = Scripted(*[PASSING] * 9)
    with pytest.raises(RetryableModelError):
        await retrying(model, Time()).complete(REQUEST)
    assert model.asked == 4


async def test_a_provider_that_asks_for_too_long_a_wait_is_given_up() -> None:
    """The user, or the next model, should not wait for it."""
    model = Scripted(RetryableModelError("x", MAX_DELAY_SECONDS + 1))
    with pytest.raises(RetryableModelError):
        await retrying(model, Time()).complete(REQUEST)
    assert model.asked == 1


async def test_slow_failures_use_up_the_patience() -> None:
    """Long attempts leave no time for another."""
    time = Time()
    model = Scripted(*[RetryableModelError("x", 59.8)] * 9)
    retries = Retries(patience=100.0, sleep=time.sleep, clock=lambda: time.now, rng=lambda: 0.0)
    with pytest.raises(RetryableModelError):
        await RetryingModel(model, retries).complete(REQUEST)
    assert model.asked == 2


def models(*scripted: Scripted) -> Sequence[Scripted]:
    """Return the models, named by their position."""
    for index, model in enumerate(scripted):
        model.name = f"groq/m{index}"
    return scripted


async def test_the_next_model_answers_when_one_fails() -> None:
    """After retryable and fatal failures alike; the answer names its model."""
    fallback = FallbackModel(models(Scripted(PASSING), Scripted(FatalModelError("x")), Scripted()))
    assert fallback.name == "groq/m0"
    answer = await fallback.complete(REQUEST)
    assert answer.message.content == "groq/m2"
    assert [(one.kind, one.subject, one.what, one.words) for one in answer.degraded] == [
        ("model", "groq/m0", "failed, and groq/m2 answered", "groq answered 503: secret words"),
        ("model", "groq/m1", "failed, and groq/m2 answered", "x"),
    ]


async def test_too_long_a_request_goes_to_no_other_model() -> None:
    """The caller must shorten it."""
    first, second = models(Scripted(ContextOverflowError("x")), Scripted())
    with pytest.raises(ContextOverflowError):
        await FallbackModel([first, second]).complete(REQUEST)
    assert second.asked == 0


async def test_the_last_failure_is_raised_when_no_model_answers() -> None:
    """No model is left."""
    with pytest.raises(FatalModelError, match="last") as failed:
        await FallbackModel(
            models(Scripted(PASSING), Scripted(FatalModelError("the last")))
        ).complete(REQUEST)
    assert [str(one) for one in failed.value.degraded] == [f"groq/m0 failed ({PASSING})"]


@pytest.mark.parametrize("keyless", [0, 1])
async def test_refused_key_is_the_failure_only_when_no_model_has_another(keyless: int) -> None:
    """A key needs a person; an outage ends by itself."""
    errors: list[ModelError] = [RetryableModelError("down"), RetryableModelError("away")]
    errors[keyless] = AccountError("groq refused the key")
    with pytest.raises(RetryableModelError):
        await FallbackModel(models(*map(Scripted, errors))).complete(REQUEST)
    with pytest.raises(AccountError):
        await FallbackModel(models(Scripted(errors[keyless]))).complete(REQUEST)


async def test_logs_tell_what_happened_without_quotes() -> None:
    """They contain neither the prompt nor the provider's text."""
    with structlog.testing.capture_logs() as logs:
        first = retrying(Scripted(*[PASSING] * 4, name="groq/a"), Time())
        await FallbackModel([first, Scripted(name="groq/b")]).complete(REQUEST)
    assert [log["event"] for log in logs] == ["model_retry"] * 3 + ["model_fallback"]
    assert logs[0] == {
        "event": "model_retry",
        "log_level": "warning",
        "model": "groq/a",
        "attempt": 1,
        "wait": 0.75,
        "error": "groq answered 503",
    }
    assert logs[3]["next_model"] == "groq/b"
    assert "secret" not in str(logs)


async def test_closing_reaches_every_model() -> None:
    """Including fallbacks that were never called."""
    first, second = models(Scripted(), Scripted())
    await FallbackModel([retrying(first, Time()), second]).aclose()
    assert first.closed
    assert second.closed


async def test_a_server_that_broke_off_is_given_the_time_to_start_again() -> None:
    """It was answering a moment ago; one that was never there is given up earlier."""
    cut, dead = RetryableModelError("cut"), RetryableModelError("dead")
    cut.kind, dead.kind = FailureKind.CUT, FailureKind.UNREACHABLE
    for errors, asked in (((cut, dead, dead, dead, dead), 6), ((dead,) * 9, 4)):
        model = Scripted(*errors)
        with suppress(RetryableModelError):
            await retrying(model, Time()).complete(REQUEST)
        assert model.asked == asked


async def test_a_server_that_loads_its_model_is_waited_for() -> None:
    """As long as the patience lasts."""
    loading = RetryableModelError("llamacpp answered 503: Loading model", 5.0)
    loading.is_loading = True
    model, time = Scripted(*[loading] * 20), Time()
    assert (await retrying(model, time).complete(REQUEST)).message.content == "groq/m"
    assert 100 <= time.now <= 180


async def test_what_a_content_filter_rejected_goes_to_no_other_model() -> None:
    """The person is told instead."""
    other = Scripted(name="openai/m")
    with pytest.raises(FilteredError):
        await FallbackModel([Scripted(FilteredError("filter")), other]).complete(REQUEST)
    assert other.asked == 0
