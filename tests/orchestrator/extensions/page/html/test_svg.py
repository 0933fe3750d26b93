"""Plots."""

import pytest
from fakes.screens import html
from hypothesis import given
from hypothesis.strategies import floats

from orchestrator.extensions.page.html import svg
from orchestrator.extensions.page.html.svg import Column, Plot


@pytest.mark.parametrize(
    ("most", "ticks"),
    [
        (0, [0]),
        (0.0514, [0, 0.02, 0.04]),
        (0.2, [0, 0.05, 0.1, 0.15, 0.2]),
        (7, [0, 2, 4, 6]),
        (90_000, [0, 50_000]),
    ],
)
def test_axis_has_round_values(most: float, ticks: list[float]) -> None:
    """A few of them, none above the highest column."""
    assert svg.choose_ticks(most) == pytest.approx(ticks)


@given(floats(1e-9, 1e12))
def test_axis_never_has_more_values_than_fit(most: float) -> None:
    """Whatever the amounts are."""
    assert 2 <= len(svg.choose_ticks(most)) <= svg.TICKS + 1


def test_column_tells_its_values_and_those_of_others_are_text() -> None:
    """For those who point at it."""
    columns = [Column("1 Jan", {"<a>": 0.5}), Column("2 Jan", {})]
    page = html(svg.render_plot(Plot(columns, ["<a>"], "Costs", "${:.2f}".format, 0.8)))
    assert "1 Jan: &lt;a&gt; $0.50" in page
    assert "2 Jan: $0.00" in page
    assert 'class="limit"' in page
    assert " style=" not in page


def test_bar_of_a_used_up_limit_stands_out() -> None:
    """It is never longer than its box."""
    assert 'class="full"' in html(svg.render_share_bar(1.7, "x"))
    assert 'width="100.0"' in html(svg.render_share_bar(1.7, "x"))
    assert 'class="bar0"' in html(svg.render_share_bar(0.5, "x"))
