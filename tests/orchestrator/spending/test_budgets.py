"""The detector (its vectors: tests/test_vectors.py); budgets by the edges of their windows."""

from zoneinfo import ZoneInfo

import pytest
from vector_runner.cases import ms

from orchestrator.agentsfile import Budget, CostControls, Price, find_price
from orchestrator.agentsfile.known_models import NOTHING
from orchestrator.journal.turns.usage import Amount
from orchestrator.spending import budgets
from orchestrator.spending.budgets import Window
from thinker.protocol.messages import Usage

MINUTE = 60_000
WARSAW = ZoneInfo("Europe/Warsaw")


def test_detectors_window_begins_59_minutes_before_this_one() -> None:
    """So the journal need not be read further back."""
    assert budgets.find_window_start(100 * MINUTE + 5) == 41 * MINUTE


@pytest.mark.parametrize(("floor", "named"), [(0, "100"), (10_000, "10,000")])
def test_spike_names_the_baseline_that_was_applied(floor: int, named: str) -> None:
    """The least rate of the settings where the agent's own is lower."""
    controls = CostControls(
        minimum_baseline_tokens=500, minimum_baseline_rate=floor, hard_cap_tokens_per_hour=999_999
    )
    used = {**dict.fromkeys(range(10), 100), 11: 100_000}
    reason = budgets.assess_usage(used, 11 * MINUTE, controls).reason
    assert reason == (
        "Token spike detected: 50,000 tokens/min in the last 2 min"
        f" vs {named} tokens/min baseline (3x threshold)"
    )


def test_windows_are_an_hour_and_the_zones_day_and_month() -> None:
    """The day of the change to summer time has 23 hours and begins at midnight all the same."""
    now = ms("2026-03-29T10:30:00+00:00")
    budget = Budget(tokens_per_hour=1, tokens_per_day=2, usd_per_month=3)
    hour, day, month = budgets.list_budget_windows(budget, now, WARSAW)
    assert hour == Window("Hour", now - 60 * MINUTE, 1, None)
    assert day == Window("Day", ms("2026-03-28T23:00:00+00:00"), 2, None)
    assert month == Window("Month", ms("2026-02-28T23:00:00+00:00"), None, 3)
    assert budgets.list_budget_windows(Budget(), now, WARSAW) == ()
    assert budgets.find_midnight_before(1, now, WARSAW) == ms("2026-03-27T23:00:00+00:00")


def test_call_that_just_fits_is_made_and_one_token_more_is_not() -> None:
    """A limit is what may be used, not what must not be reached."""
    limits = Window("Day", 0, 100, None)
    assert budgets.find_exceeded_limit(limits, Amount(60), Amount(40)) is None
    assert budgets.find_exceeded_limit(limits, Amount(60), Amount(41)) == (
        "the next call may take 41 tokens, and 40 of 100 are left of the budget tokensPerDay"
    )


def test_dollars_are_limited_on_their_own() -> None:
    """Tokens do not matter then."""
    limits = Window("Month", 0, None, 1.5)
    assert budgets.find_exceeded_limit(limits, Amount(9_999_999, 1.0), Amount(1, 0.5)) is None
    reason = budgets.find_exceeded_limit(limits, Amount(0, 1.0), Amount(1, 0.6))
    assert reason is not None
    assert "usdPerMonth" in reason


def test_cached_tokens_cost_their_own_price() -> None:
    """Without one they cost what others do; a model without a price has an unknown cost."""
    usage = Usage(prompt=1_000_000, completion=100_000, cached=400_000)
    assert budgets.compute_cost(Price(input=3, output=10), usage) == pytest.approx(4.0)
    assert budgets.compute_cost(Price(input=3, output=10, cached=0.5), usage) == pytest.approx(3.0)
    assert budgets.compute_cost(None, usage) is None


@pytest.mark.parametrize(
    ("price", "used", "cost"),
    [
        ({"perMinute": 0.6}, Usage(), 0.9),
        ({"perMinute": 0.6}, Usage(prompt=1_000_000), 0.9),
        ({"perMinute": 0.6, "input": 2, "output": 4}, Usage(prompt=500_000), 1.9),
        ({"input": 2, "output": 4}, Usage(prompt=500_000), 1.0),
        ({"input": 2, "output": 4}, Usage(), None),
        ({"perPicture": 1}, Usage(prompt=500_000), None),
    ],
)
def test_minutes_are_priced_beside_tokens(
    price: dict[str, float], used: Usage, cost: float | None
) -> None:
    """Whatever has a price counts; a minute and no token with a price is unknown."""
    found = budgets.compute_cost(Price.model_validate(price), used, budgets.Amounts(minutes=1.5))
    assert found == (None if cost is None else pytest.approx(cost))


def test_free_model_costs_nothing_whatever_it_does() -> None:
    """It runs on this machine."""
    amounts = budgets.Amounts(minutes=3, million_characters=1, pictures=2)
    assert budgets.compute_cost(NOTHING, Usage(), amounts) == 0


def test_tokens_written_to_a_cache_cost_their_own_price() -> None:
    """They are part of the prompt; without a price of their own they cost what others do."""
    usage = Usage(prompt=1_000_000, cached=400_000, cache_written=100_000)
    assert budgets.compute_cost(Price(input=3, output=10), usage) == pytest.approx(3.0)
    price = Price(input=3, output=10, cached=0.5, cache_written=4)
    assert budgets.compute_cost(price, usage) == pytest.approx(1.5 + 0.2 + 0.4)
    assert price.highest_rate == pytest.approx(0.00001)


def test_sum_without_a_price_is_not_shown_as_nothing() -> None:
    """What is known is shown, and that there is more."""
    words = [
        budgets.format_cost(usd, unknown=unknown)
        for usd, unknown in ((0.0, False), (0.5, False), (0.0, True), (0.5, True))
    ]
    assert words == ["$0.00", "$0.50", "cost unknown", "$0.50 + unknown"]


def test_price_of_the_exact_name_wins_over_a_pattern() -> None:
    """Among patterns the first."""
    prices = {
        "openai/*": Price(input=1, output=1),
        "*/*": Price(input=2, output=2),
        "openai/gpt": Price(input=3, output=3),
    }
    assert find_price(prices, "openai/gpt") is prices["openai/gpt"]
    assert find_price(prices, "openai/other") is prices["openai/*"]
    assert find_price(prices, "groq/a/b") is prices["*/*"]
    assert find_price({}, "groq/a") is None
