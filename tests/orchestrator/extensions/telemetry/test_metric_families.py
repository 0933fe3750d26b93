"""Families of series in memory."""

from orchestrator.extensions.telemetry.metric_families import (
    MAX_CHARACTERS,
    MAX_VALUES,
    OTHER,
    CounterFamily,
    Family,
    Histogram,
)

CALLS = Family("calls", "counter", "Calls.", ("agent", "tool"))


def test_series_grow_by_themselves() -> None:
    """What was read is not changed by what comes later."""
    calls = CounterFamily[float](CALLS)
    calls.add(("a", "x"), 1)
    read = calls.build_readings()
    calls.add(("a", "x"), 2)
    calls.add(("a", "y"), 5)
    assert read.series == {("a", "x"): 1}
    assert calls.build_readings().series == {("a", "x"): 3, ("a", "y"): 5}


def test_histograms_add_up_by_bucket() -> None:
    """And so do their sums."""
    times = CounterFamily[Histogram](CALLS)
    times.add(("a", "x"), Histogram((1, 0, 2), 3.5))
    times.add(("a", "x"), Histogram((0, 1, 1), 1.0))
    assert times.build_readings().series == {("a", "x"): Histogram((1, 1, 3), 4.5)}


def test_made_up_names_do_not_fill_the_memory() -> None:
    """Further values of a label count as one; those that are known go on, and other labels too."""
    calls = CounterFamily[float](CALLS)
    for number in range(MAX_VALUES + 10):
        calls.add(("a", f"tool {number}"), 1)
    calls.add(("b", "tool 0"), 1)
    calls.add(("a", "x" * 10_000), 1)
    series = calls.build_readings().series
    assert len(series) == MAX_VALUES + 2
    assert (series["a", OTHER], series["a", "tool 0"], series["b", "tool 0"]) == (11, 1, 1)
    short = CounterFamily[float](CALLS)
    short.add(("a", "x" * 10_000), 1)
    assert list(short.build_readings().series) == [("a", "x" * MAX_CHARACTERS)]
