"""What a week would cost with another model, estimated from some of its turns."""

from random import Random

import pytest
from fakes.used_turns import run_again, used_turn, week_of_turns

from orchestrator.agentsfile.costs import Price
from orchestrator.extensions.workbench.switch_costs import ExpectedSum, TriedUse, estimate_costs
from orchestrator.extensions.workbench.turn_sample import UsedTurn, choose_sample
from orchestrator.spending.budgets import compute_cost
from thinker.protocol.messages import Usage

PRICE = Price(input=0.4, output=3.0, cached=0.1)


def cost_of(use: TriedUse | UsedTurn) -> float:
    """What a turn costs."""
    used = Usage(prompt=use.prompt, completion=use.completion, cached=use.cached)
    return compute_cost(PRICE, used) or 0.0


@pytest.mark.parametrize("seed", range(20))
def test_estimate_is_near_a_second_real_run_which_is_in_its_range(seed: int) -> None:
    """Of another model with other prices and tokens, by kind; its answers vary."""
    chance = Random(seed)  # noqa: S311 - decides no secret
    week = week_of_turns(chance)
    tried = {turn.turn_id: run_again(turn, chance) for turn in choose_sample(week, 40)}
    real = sum(cost_of(run_again(turn, chance)) for turn in week)
    found = estimate_costs(week, tried, PRICE)
    assert found is not None
    assert found.likely == pytest.approx(real, rel=0.05)
    assert found.low <= real <= found.high
    assert found.high < 1.5 * found.likely


def test_cache_that_a_trial_warmed_does_not_make_a_model_cheaper() -> None:
    """The range goes from as much in the cache as the trial found to nothing."""
    week = [used_turn(n) for n in range(40)]
    tried = {turn.turn_id: TriedUse(1000, 100, 1000) for turn in week}
    found = estimate_costs(week, tried, PRICE)
    assert found is not None
    recorded, warm, cold = (40 * cost_of(TriedUse(1000, 100, cached)) for cached in (250, 1000, 0))
    assert found.likely == pytest.approx(recorded)
    assert found.low == pytest.approx(warm - 0.02 * recorded)
    assert found.high == pytest.approx(cold + 0.02 * recorded)


def test_single_turn_gives_a_wide_range() -> None:
    """And a kind that was not tried is estimated by the others."""
    week = [used_turn(n, "tools" if n % 2 else "plain") for n in range(10)]
    found = estimate_costs(week, {"turn-0": TriedUse(2000, 200, 0)}, PRICE)
    assert found is not None
    assert found.likely == pytest.approx(2 * sum(map(cost_of, week)))
    assert found.high > 1.3 * found.likely


def test_nothing_is_estimated_without_a_price_or_a_turn() -> None:
    """A price for pictures is no price of tokens."""
    week = [used_turn(1)]
    tried = {"turn-1": TriedUse(1000, 100, 0)}
    assert estimate_costs(week, tried, None) is None
    assert estimate_costs(week, tried, Price(per_picture=1.0)) is None
    assert estimate_costs(week, {}, PRICE) is None


def test_range_can_be_scaled() -> None:
    """As to a month."""
    assert ExpectedSum(low=1, likely=2, high=3).scale_by(2) == ExpectedSum(low=2, likely=4, high=6)
