"""The text that Prometheus reads, read by the parser of its own client library."""

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from orchestrator.extensions.telemetry.metric_families import Family, Histogram, Readings
from orchestrator.extensions.telemetry.prometheus_text import render_metrics

TURNS = Family("o_turns", "counter", "Turns.", ("agent", "reason"))
TIMES = Family("o_time_seconds", "histogram", "Times.", ("agent",), "s", (0.1, 1.0, 10.0))
SIZE = Family("o_bytes", "gauge", "Size.")


def parsed(readings: Sequence[Readings]) -> Mapping[str, Metric]:
    """The families by their names."""
    return {
        one.name: one for one in text_string_to_metric_families(render_metrics(readings).decode())
    }


def test_each_kind_is_read_as_what_it_is() -> None:
    """A counter ends in _total, a gauge without labels has no braces."""
    found = parsed([Readings(TURNS, {("a", "done"): 3}), Readings(SIZE, {(): 2.5})])
    turns, size = found["o_turns"], found["o_bytes"]
    assert (turns.type, turns.documentation, size.type) == ("counter", "Turns.", "gauge")
    ((name, labels, value, *_),) = turns.samples
    assert (name, labels, value) == ("o_turns_total", {"agent": "a", "reason": "done"}, 3)
    assert [(sample.labels, sample.value) for sample in size.samples] == [({}, 2.5)]


def test_buckets_are_cumulative_and_end_with_the_count() -> None:
    """As are their bounds."""
    found = parsed([Readings(TIMES, {("a",): Histogram((2, 0, 3, 1), 17.25)})])["o_time_seconds"]
    buckets = [one for one in found.samples if one.name == "o_time_seconds_bucket"]
    assert [(float(one.labels["le"]), one.value) for one in buckets] == [
        *((0.1, 2), (1.0, 2), (10.0, 5), (float("inf"), 6))
    ]
    rest = {one.name: one.value for one in found.samples if "le" not in one.labels}
    assert rest == {"o_time_seconds_sum": 17.25, "o_time_seconds_count": 6}


def test_family_without_series_has_its_head_alone() -> None:
    """So that it is known to exist."""
    assert parsed([Readings(TURNS, {})])["o_turns"].samples == []
    assert parsed([]) == {}


@given(st.lists(st.text(), min_size=1, max_size=5, unique=True), st.floats(0, 1e18))
def test_any_label_and_value_comes_back(labels: list[str], value: float) -> None:
    """Quotes, line breaks and backslashes are escaped."""
    labels = [label.replace("\r", "").encode("utf-8", "ignore").decode() for label in labels]
    found = parsed([Readings(TURNS, {(label, "x"): value for label in labels})])["o_turns"].samples
    assert [sample.labels["agent"] for sample in found] == list(dict.fromkeys(labels))
    assert {sample.value for sample in found} == {value}
