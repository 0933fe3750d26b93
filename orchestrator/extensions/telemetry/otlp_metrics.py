"""Metrics in OTLP, named as in Prometheus, without ``_total``."""

from orchestrator.extensions.telemetry.metric_families import Family, Histogram, Labels, Readings
from orchestrator.extensions.telemetry.otlp_json import (
    OtlpObject,
    build_attributes,
    format_nanoseconds,
)

CUMULATIVE = 2  # opentelemetry.proto.metrics.v1.AggregationTemporality


def build_metric(readings: Readings, started: int, now: int) -> OtlpObject:
    """Build a family; its counters began at ``started``. Both times in milliseconds."""
    family = readings.family
    common = {"timeUnixNano": format_nanoseconds(now)}
    if family.kind != "gauge":
        common["startTimeUnixNano"] = format_nanoseconds(started)
    points = [
        {"attributes": _build_labels(family, values), **common, **_build_point(family, value)}
        for values, value in readings.series.items()
    ]
    data: OtlpObject = {"dataPoints": points}
    if family.kind != "gauge":
        data["aggregationTemporality"] = CUMULATIVE
    if family.kind == "counter":
        data["isMonotonic"] = True
    kind = "sum" if family.kind == "counter" else family.kind
    return {"name": family.name, "description": family.about, "unit": family.unit, kind: data}


def _build_labels(family: Family, values: Labels) -> list[OtlpObject]:
    return build_attributes(dict(zip(family.labels, values, strict=True)))


def _build_point(family: Family, value: float | Histogram) -> OtlpObject:
    if not isinstance(value, Histogram):
        return {"asDouble": float(value)}
    return {
        "count": str(sum(value.buckets)),
        "sum": value.total,
        "bucketCounts": [str(number) for number in value.buckets],
        "explicitBounds": list(family.bounds),
    }
