"""Metrics as OTLP has them, under the names that Prometheus gets, without its ``_total``."""

from orchestrator.telemetry.metric_families import Family, Histogram, Labels, Readings
from orchestrator.telemetry.otlp_json import OtlpObject, attributes, nanoseconds

CUMULATIVE = 2  # opentelemetry.proto.metrics.v1.AggregationTemporality


def metric(readings: Readings, started: int, now: int) -> OtlpObject:
    """Return a family; its counters began at ``started``. Both times in milliseconds."""
    family = readings.family
    common = {"timeUnixNano": nanoseconds(now)}
    if family.kind != "gauge":
        common["startTimeUnixNano"] = nanoseconds(started)
    points = [
        {"attributes": _labels(family, values), **common, **_point(family, value)}
        for values, value in readings.series.items()
    ]
    data: OtlpObject = {"dataPoints": points}
    if family.kind != "gauge":
        data["aggregationTemporality"] = CUMULATIVE
    if family.kind == "counter":
        data["isMonotonic"] = True
    kind = "sum" if family.kind == "counter" else family.kind
    return {"name": family.name, "description": family.about, "unit": family.unit, kind: data}


def _labels(family: Family, values: Labels) -> list[OtlpObject]:
    return attributes(dict(zip(family.labels, values, strict=True)))


def _point(family: Family, value: float | Histogram) -> OtlpObject:
    if not isinstance(value, Histogram):
        return {"asDouble": float(value)}
    return {
        "count": str(sum(value.buckets)),
        "sum": value.total,
        "bucketCounts": [str(number) for number in value.buckets],
        "explicitBounds": list(family.bounds),
    }
