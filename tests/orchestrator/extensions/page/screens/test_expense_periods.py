"""The periods of the costs."""

from datetime import date

import pytest
from fakes.screens import request

from orchestrator.extensions.page.screens import expense_periods
from orchestrator.extensions.page.screens.expense_periods import Days

TODAY = date(2026, 3, 20)  # of the requests


@pytest.mark.parametrize(
    ("query", "since", "until"),
    [
        ({}, date(2026, 2, 19), TODAY),
        ({"range": "1"}, TODAY, TODAY),
        ({"range": "7"}, date(2026, 3, 14), TODAY),
        ({"range": "month"}, date(2026, 3, 1), TODAY),
        ({"from": "2026-03-01", "to": "2026-03-02"}, date(2026, 3, 1), date(2026, 3, 2)),
    ],
)
def test_days_are_those_of_the_address(query: dict[str, str], since: date, until: date) -> None:
    """By a name, or from one day to another."""
    found = expense_periods.choose_days(request(**query))
    assert (found.since, found.until, found.problem) == (since, until, "")


def test_days_that_are_not_shown_are_told() -> None:
    """At most about three months, and never backwards."""
    found = expense_periods.choose_days(request(**{"from": "1999-01-01"}))
    assert (found.since, found.until) == (date(2025, 12, 18), TODAY)
    assert found.problem.startswith("More than 93 days are not shown at once")
    turned = expense_periods.choose_days(request(**{"from": "2026-03-05", "to": "2026-03-02"}))
    assert (turned.since, turned.until) == (date(2026, 3, 2), date(2026, 3, 2))
    assert turned.problem == "2026-03-05 is after 2026-03-02; choose an earlier day."


def test_date_that_is_none_is_told() -> None:
    """With an example."""
    found = expense_periods.choose_days(request(**{"from": "yesterday"}))
    assert found.problem == "“yesterday” is no day; write for example 2026-03-20."


def test_one_day_has_hours_and_a_month_has_days() -> None:
    """A column for each."""
    day = expense_periods.list_spans(request(), Days(TODAY, TODAY))
    assert (len(day), day[0][2], day[-1][2]) == (24, "00:00", "23:00")
    days = expense_periods.list_spans(request(), Days(date(2026, 3, 1), TODAY))
    assert (len(days), days[-1][2]) == (20, "20 Mar")
