"""The circuit breaker: its states, and the wrapped model."""

import anyio
import pytest
from fakes.scripted import ScriptedModel, says
from hypothesis import given
from hypothesis import strategies as st

from thinker.models.base import ModelRequest, ModelResponse
from thinker.models.breaker import COOLDOWN, THRESHOLD, Breaker, CircuitBreakerModel
from thinker.models.retry import FallbackModel, Retries, RetryingModel
from thinker.protocol.messages import UserMessage
from thinker.worker_errors import CircuitOpenError, FatalModelError, ModelError, RetryableModelError

REQUEST = ModelRequest(system="", messages=(UserMessage(content="q"),))
DOWN = RetryableModelError("groq answered 503")


def opened(now: float = 0.0) -> Breaker:
    """Return a breaker that has just opened."""
    breaker = Breaker()
    for _ in range(THRESHOLD):
        assert breaker.admit_request(now)
        breaker.record_failure(now)
    return breaker


def test_failures_in_a_row_open_it_and_one_answer_between_does_not() -> None:
    """Five in a row; the sixth request is not made."""
    breaker = Breaker()
    for _ in range(THRESHOLD - 1):
        breaker.record_failure(0)
    breaker.record_success()
    for _ in range(THRESHOLD - 1):
        breaker.record_failure(0)
    assert breaker.admit_request(0)
    breaker.record_failure(0)
    assert breaker.find_state(0) == "open"
    assert not breaker.admit_request(COOLDOWN - 1)
    assert breaker.count_remaining_seconds(20) == COOLDOWN - 20


def test_one_request_probes_after_the_cooldown() -> None:
    """Other requests are still refused; the probe's outcome closes or reopens the breaker."""
    breaker = opened()
    assert breaker.find_state(COOLDOWN) == "half-open"
    assert breaker.admit_request(COOLDOWN)
    assert not breaker.admit_request(COOLDOWN)
    breaker.record_failure(COOLDOWN)
    assert breaker.find_state(2 * COOLDOWN - 1) == "open"
    assert breaker.admit_request(2 * COOLDOWN)
    breaker.record_success()
    assert breaker.find_state(2 * COOLDOWN) == "closed"


def test_canceled_probe_leaves_room_for_the_next() -> None:
    """Its outcome is unknown."""
    breaker = opened()
    assert breaker.admit_request(COOLDOWN)
    breaker.record_cancellation()
    assert breaker.admit_request(COOLDOWN)


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 100))))
def test_it_never_stays_open_longer_than_the_cooldown(story: list[tuple[bool, float]]) -> None:
    """Whatever happened before, a probe is allowed then."""
    breaker, now = Breaker(), 0.0
    for answered, pause in story:
        now += pause
        if breaker.admit_request(now):
            breaker.record_success() if answered else breaker.record_failure(now)
    assert breaker.admit_request(now + COOLDOWN)


async def test_fallback_answers_at_once_while_the_first_is_skipped() -> None:
    """Two messages open the breaker; then the first model is not called."""
    first = ScriptedModel(*[DOWN] * THRESHOLD)
    second = ScriptedModel(says("one"), says("two"), says("three"))
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    guarded = CircuitBreakerModel(first, Breaker(), lambda: 0.0)
    model = FallbackModel([RetryingModel(guarded, Retries(sleep=sleep, clock=lambda: 0.0)), second])
    answers = [(await model.complete(REQUEST)).message.content for _ in range(3)]
    assert answers == ["one", "two", "three"]
    assert len(first.requests) == THRESHOLD
    assert len(waits) == 4  # three for the first message, one for the second, none for the third


@pytest.mark.parametrize(
    ("error", "state"), [(DOWN, "open"), (FatalModelError("groq refused the key"), "closed")]
)
async def test_refusal_is_an_answer(error: ModelError, state: str) -> None:
    """Only an endpoint that does not answer counts as failed."""
    breaker = opened()
    model = CircuitBreakerModel(ScriptedModel(error), breaker, lambda: COOLDOWN)
    with pytest.raises(type(error)):
        await model.complete(REQUEST)
    assert breaker.find_state(COOLDOWN) == state


async def test_open_circuit_says_for_how_long() -> None:
    """The message is for the operator."""
    model = CircuitBreakerModel(ScriptedModel(), opened(), lambda: 18.0)
    with pytest.raises(CircuitOpenError, match="failed too often; the next try is in 42"):
        await model.complete(REQUEST)


async def test_canceled_request_frees_the_probe() -> None:
    """A stopped turn must not keep the breaker open."""
    breaker = opened()

    with anyio.CancelScope() as turn:

        async def stop(_: ModelRequest) -> ModelResponse:
            turn.cancel()
            await anyio.sleep_forever()
            raise AssertionError

        await CircuitBreakerModel(ScriptedModel(stop), breaker, lambda: COOLDOWN).complete(REQUEST)
    assert turn.cancelled_caught
    assert breaker.admit_request(COOLDOWN)
