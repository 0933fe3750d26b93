"""The limits of a turn."""

import pytest

from thinker.budget import TurnLimits, TurnUsage, find_exceeded_limit, is_last_step, resolve_usage
from thinker.protocol.messages import Usage
from thinker.protocol.methods import StopReason

LIMITS = TurnLimits(max_steps=3, max_tokens=100, deadline=50.0)


@pytest.mark.parametrize(
    ("spent", "now", "reason"),
    [
        (TurnUsage(), 0.0, None),
        (TurnUsage(2, Usage(prompt=60, completion=39)), 49.9, None),
        (TurnUsage(2, Usage(prompt=60, completion=40)), 0.0, StopReason.MAX_TOKENS),
        (TurnUsage(3), 0.0, StopReason.MAX_STEPS),
        (TurnUsage(), 50.0, StopReason.DEADLINE),
    ],
)
def test_turn_stops_at_the_first_limit_it_reaches(
    spent: TurnUsage, now: float, reason: StopReason | None
) -> None:
    """A limit is reached, not passed."""
    assert find_exceeded_limit(LIMITS, spent, now) == reason


def test_zero_tokens_are_no_limit() -> None:
    """An agent without a token limit never stops for one."""
    assert (
        find_exceeded_limit(TurnLimits(8, 0, 1.0), TurnUsage(1, Usage(prompt=10**9)), 0.0) is None
    )


def test_steps_and_tokens_add_up() -> None:
    """What every step used counts."""
    spent = (
        TurnUsage()
        .add_step(Usage(prompt=1, cached=1))
        .add_step(Usage(completion=2, cache_written=3))
    )
    assert spent == TurnUsage(2, Usage(prompt=1, completion=2, cached=1, cache_written=3))


@pytest.mark.parametrize("wrong", [Usage(), Usage(completion=9), Usage(prompt=5, completion=-1)])
def test_call_without_credible_usage_is_charged_by_its_size(wrong: Usage) -> None:
    """Four characters a token, rounded up; a provider's plausible count is used as it is."""
    assert resolve_usage(wrong, lambda: (401, 8)) == Usage(prompt=101, completion=2)
    honest = Usage(prompt=5, completion=0, cached=2)
    assert resolve_usage(honest, lambda: (401, 8)) == honest


def test_last_step_is_known_beforehand() -> None:
    """The step before the limit must answer."""
    assert [is_last_step(LIMITS, TurnUsage(steps)) for steps in range(4)] == [
        False,
        False,
        True,
        True,
    ]
