"""Estimate what a trial will cost, from what its turns have used."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from orchestrator.agentsfile import Price
from orchestrator.extensions.workbench.recorded_turns import MadeRequest
from orchestrator.spending.budgets import compute_cost
from thinker.protocol.messages import Usage

REASONING = 2  # how many times the recorded words a reasoning model may write
FindPrice = Callable[[str, int], Price | None]  # of a model, for a prompt of so many tokens


class UsedModel(NamedTuple):
    """What a recorded request to a model has used."""

    model: str
    usage: Usage


class CostRange(NamedTuple):
    """The least and the most that calls may cost in dollars; None if a price is unknown."""

    calls: int
    tokens: int
    low: float | None
    high: float | None


def estimate_cost(
    requests: Iterable[UsedModel | MadeRequest],
    find_price: FindPrice,
    model: str | None,
    *,
    reasons: bool,
) -> CostRange:
    """Estimate what recorded requests cost when they are made again, by another ``model`` if any.

    The least is with as much from caches as was recorded, the most with nothing; a model that
    ``reasons`` may write more.
    """
    calls, tokens = 0, 0
    low: float | None = 0.0
    high: float | None = 0.0
    for request in requests:
        used, name = request.usage, model or request.model
        most = Usage(prompt=used.prompt, completion=used.completion * (REASONING if reasons else 1))
        least = Usage(prompt=used.prompt, completion=used.completion, cached=used.cached)
        price = find_price(name, used.prompt)
        calls, tokens = calls + 1, tokens + used.total
        low, high = _add(low, compute_cost(price, least)), _add(high, compute_cost(price, most))
    return CostRange(calls, tokens, low, high)


def _add(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other
