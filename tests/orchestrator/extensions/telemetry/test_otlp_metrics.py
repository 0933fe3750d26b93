"""Metrics, read with the definitions of OTLP."""

from fakes.otlp_collector import values
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, Metric

from orchestrator.extensions.telemetry.metric_families import Family, Histogram, Readings
from orchestrator.extensions.telemetry.otlp_metrics import build_metric

STARTED, NOW = 1000, 3000  # milliseconds
MS = 1_000_000  # nanoseconds


def parsed(readings: Readings) -> Metric:
    """The metric as a collector reads it."""
    return ParseDict(build_metric(readings, STARTED, NOW), Metric())


def test_counter_is_a_sum_since_the_start() -> None:
    """Under its name without an ending, which Prometheus adds."""
    family = Family("o_cost_usd", "counter", "Cost.", ("agent",), "USD")
    found = parsed(Readings(family, {("a",): 2, ("b",): 0.5}))
    assert (found.name, found.description, found.unit) == ("o_cost_usd", "Cost.", "USD")
    assert found.sum.is_monotonic
    assert found.sum.aggregation_temporality == AggregationTemporality.Value(
        "AGGREGATION_TEMPORALITY_CUMULATIVE"
    )
    assert [(values(one.attributes), one.as_double) for one in found.sum.data_points] == [
        *(({"agent": "a"}, 2.0), ({"agent": "b"}, 0.5))
    ]
    first = found.sum.data_points[0]
    assert (first.start_time_unix_nano, first.time_unix_nano) == (STARTED * MS, NOW * MS)


def test_gauge_has_values_of_now() -> None:
    """Without labels there are no attributes."""
    found = parsed(Readings(Family("o_bytes", "gauge", "Size.", unit="By"), {(): 7}))
    (point,) = found.gauge.data_points
    assert (list(point.attributes), point.as_double, point.start_time_unix_nano) == ([], 7.0, 0)


def test_histogram_has_a_bucket_more_than_bounds() -> None:
    """The buckets are not cumulative, unlike those of Prometheus."""
    family = Family("o_seconds", "histogram", "Times.", ("agent",), "s", (0.1, 1.0))
    found = parsed(Readings(family, {("a",): Histogram((1, 0, 2), 9.5)}))
    (point,) = found.histogram.data_points
    assert (list(point.bucket_counts), list(point.explicit_bounds)) == ([1, 0, 2], [0.1, 1.0])
    assert (point.count, point.sum) == (3, 9.5)
    assert found.histogram.aggregation_temporality == 2
