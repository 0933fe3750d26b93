"""What a trial will cost is foreseen from what its turns have used."""

import pytest
from fakes.replayed import replayed

from orchestrator.agentsfile import Price
from orchestrator.extensions.workbench.estimates import estimate_cost

PRICE = Price(input=1.0, output=10.0, cached=0.1)


def find_price(model: str, prompt: int) -> Price | None:
    """The price of all models but one."""
    del prompt
    return None if model == "free/unknown" else PRICE


def test_range_is_with_recorded_and_without_any_cache() -> None:
    """A model that reasons may write twice as much."""
    (request,) = replayed("Hi.").requests
    found = estimate_cost([request, request], find_price, None, reasons=False)
    assert (found.calls, found.tokens) == (2, 220)
    assert found.low == pytest.approx(2 * (60 + 40 * 0.1 + 100) / 1e6)
    assert found.high == pytest.approx(2 * (100 + 100) / 1e6)
    twice = estimate_cost([request], find_price, None, reasons=True)
    assert twice.high == pytest.approx((100 + 200) / 1e6)


def test_model_without_a_price_has_no_range() -> None:
    """One such call is enough; the tokens are known all the same."""
    (request,) = replayed("Hi.").requests
    found = estimate_cost([request], find_price, "free/unknown", reasons=False)
    assert found == (1, 110, None, None)
