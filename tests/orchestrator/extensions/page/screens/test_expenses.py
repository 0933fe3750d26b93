"""Costs by day."""

from datetime import date

from fakes.screens import html, request

from orchestrator.extensions.page.reads.spending_days import SpendingSlot
from orchestrator.extensions.page.screens import expenses

DAY = 86_400_000
SLOT = SpendingSlot(0, "home", "big", "turn", 2, 1000, 500, 10, 0.5, 0, 0)
OTHER = SpendingSlot(DAY, "work", "small", "facts", 1, 100, 0, 5, 0.0, 1, 1)


def test_sums_are_by_day_and_by_what_was_asked_for() -> None:
    """With what is unknown, what was lost, and a pace."""
    page = html(expenses.render_costs(request(), [SLOT, OTHER], date(1970, 1, 1), date(1970, 1, 2)))
    assert (
        "$0.5000 and 1\u2009115 tokens in 2 days (UTC), and 1 calls without a known price" in page
    )
    assert "a month costs" not in page  # two days tell no pace
    week = html(
        expenses.render_costs(request(), [SLOT, OTHER], date(1970, 1, 1), date(1970, 1, 10))
    )
    assert "At this pace a month costs $1.50." in week
    assert "1 calls were cut off" in page
    assert "01 Jan home: 0.5" in page
    assert "$0.00 + 1 unknown" in page
    by = html(
        expenses.render_costs(
            request(by="purpose", **{"in": "tokens"}),
            [SLOT, OTHER],
            date(1970, 1, 1),
            date(1970, 1, 2),
        )
    )
    assert "02 Jan facts: 105" in by


def test_time_without_calls_is_a_sentence() -> None:
    """Not an empty plot."""
    page = html(expenses.render_costs(request(), [], date(2026, 1, 1), date(2026, 1, 2)))
    assert "No model calls in this period." in page
