"""The bars of a turn."""

from hypothesis import given
from hypothesis.strategies import integers, lists, sampled_from, tuples

from orchestrator.extensions.page.reads.turn_timeline import TimelineBar
from orchestrator.extensions.page.screens import turn_picture
from orchestrator.extensions.page.screens.turn_picture import FOLDED_MS

KINDS = sampled_from(["model", "tool", "person", "send"])
SPANS = lists(
    tuples(KINDS, integers(0, 10**8), integers(0, 10**7)),
    min_size=1,
    max_size=300,
)


@given(SPANS)
def test_every_bar_is_inside_of_the_picture(spans: list[tuple[str, int, int]]) -> None:
    """Whatever the times are."""
    bars = [TimelineBar("x", kind, at, at + ms) for kind, at, ms in spans]
    scale = turn_picture.build_time_scale(bars, 0)
    for bar in bars:
        assert 0 <= scale.find_place(bar.began) <= scale.find_place(bar.ended) <= scale.length + 1


@given(SPANS)
def test_place_of_an_instant_leads_back_to_it(spans: list[tuple[str, int, int]]) -> None:
    """So that the axis names the real time, also after a folded gap."""
    bars = [TimelineBar("x", kind, at, at + ms) for kind, at, ms in spans]
    scale = turn_picture.build_time_scale(bars, 0)
    for at, place in scale.knots:
        assert abs(scale.find_place(scale.find_instant(place)) - place) < 1
        assert at >= 0


def test_long_wait_is_drawn_short() -> None:
    """What follows it keeps its scale."""
    bars = [TimelineBar("m", "model", 0, 1000), TimelineBar("t", "tool", 90_000, 91_000)]
    scale = turn_picture.build_time_scale(bars, 0)
    assert scale.length == 2000 + FOLDED_MS
    assert scale.folds == [(1000, 89_000)]
