"""Estimate what an agent's turns would cost with another model, from those that were tried."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from orchestrator.agentsfile.costs import Price
from orchestrator.control.camel_model import CamelModel
from orchestrator.extensions.workbench.turn_sample import KINDS, UsedTurn
from orchestrator.spending.budgets import compute_cost
from thinker.protocol.messages import Usage

MONTH = 30 / 7  # of a week
ENOUGH = 5  # tried turns of a kind, whose spread can be known
DEVIATIONS = 3.0  # of the estimate on each side, which contain it in practice
SURE = 0.02  # of the estimate: a model does not answer twice alike
UNSURE = 0.5  # of an estimate from a single turn, and less from several


class ExpectedSum(CamelModel):
    """Dollars: the most likely sum, between the least and the most that are to be expected."""

    low: float
    likely: float
    high: float

    def scale_by(self, factor: float) -> "ExpectedSum":
        """Return a multiple of the range."""
        return ExpectedSum(
            low=self.low * factor, likely=self.likely * factor, high=self.high * factor
        )


@dataclass(frozen=True)
class TriedUse:
    """The tokens of a turn as it was tried."""

    prompt: int
    completion: int
    cached: int


def estimate_costs(
    week: Sequence[UsedTurn], tried: Mapping[str, TriedUse], price: Price | None
) -> ExpectedSum | None:
    """Return what ``week`` would cost at a price; None without one, or without a tried turn.

    A trial finds in the cache what the same prompts have just left there, so the likely sum has the
    recorded share of cached tokens, the highest none.
    """
    pairs = [(turn, tried[turn.turn_id]) for turn in week if turn.turn_id in tried]
    if price is None or price.input is None or not pairs:
        return None
    shares = _find_cached_share(week), _find_cached_share([use for _, use in pairs])
    likely, error = _estimate_sum(week, pairs, price, shares[0])
    least, _ = _estimate_sum(week, pairs, price, max(shares))
    most, _ = _estimate_sum(week, pairs, price, 0.0)
    return ExpectedSum(
        low=max(0.0, min(least, likely) - error), likely=likely, high=max(most, likely) + error
    )


def _estimate_sum(
    week: Sequence[UsedTurn],
    pairs: Sequence[tuple[UsedTurn, TriedUse]],
    price: Price,
    share: float,
) -> tuple[float, float]:
    """Return the estimated cost and how far it may be off, by the ratio of each kind of turns."""
    find_cost = partial(_compute_use_cost, price=price, share=share)
    total = variance = 0.0
    for kind in KINDS:
        turns = [turn for turn in week if turn.kind == kind]
        own = [pair for pair in pairs if pair[0].kind == kind]
        costs = [(find_cost(turn), find_cost(use)) for turn, use in own or pairs]
        mean = sum(before for before, _ in costs) / len(costs)
        if mean and turns:
            ratio = sum(after for _, after in costs) / len(costs) / mean
            part = ratio * sum(map(find_cost, turns))
            total += part
            whole = len(own) == len(turns) or len(own) >= ENOUGH
            few = 0.0 if whole else UNSURE / max(len(own), 1)
            spread = _compute_spread(costs, ratio) / (mean * ratio) if ratio else 0.0
            variance += (part * max(DEVIATIONS * spread, few)) ** 2
    return total, max(math.sqrt(variance), SURE * total)


def _compute_spread(costs: Sequence[tuple[float, float]], ratio: float) -> float:
    """Return the standard error of the mean cost by a ratio."""
    if len(costs) == 1:
        return 0.0
    squares = sum((after - ratio * before) ** 2 for before, after in costs)
    return math.sqrt(squares / (len(costs) - 1) / len(costs))


def _find_cached_share(uses: Sequence[UsedTurn | TriedUse]) -> float:
    prompt = sum(use.prompt for use in uses)
    return sum(use.cached for use in uses) / prompt if prompt else 0.0


def _compute_use_cost(use: UsedTurn | TriedUse, price: Price, share: float) -> float:
    cached = round(use.prompt * share)
    found = compute_cost(price, Usage(prompt=use.prompt, completion=use.completion, cached=cached))
    return found or 0.0
