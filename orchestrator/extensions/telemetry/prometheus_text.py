"""Prometheus' text exposition format, version 0.0.4."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from orchestrator.extensions.telemetry.metric_families import (
    Family,
    Histogram,
    Labels,
    Readings,
    Series,
)

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
ESCAPED = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


def render_metrics(readings: Iterable[Readings]) -> bytes:
    """Render all families; one without series has only its header."""
    return "".join(line for one in readings for line in _format_lines(*one)).encode()


def _format_lines(family: Family, series: Series) -> Iterator[str]:
    name = f"{family.name}_total" if family.kind == "counter" else family.name
    yield f"# HELP {name} {family.about}\n"
    yield f"# TYPE {name} {family.kind}\n"
    for values, value in series.items():
        if isinstance(value, Histogram):
            yield from _format_histogram(family, values, value)
        else:
            yield f"{name}{_format_labels(family.labels, values)} {_format_number(value)}\n"


def _format_histogram(family: Family, values: Labels, histogram: Histogram) -> Iterator[str]:
    bounds = (*(repr(float(bound)) for bound in family.bounds), "+Inf")
    count = 0
    for bound, count in zip(bounds, accumulate(histogram.buckets), strict=True):
        labels = _format_labels((*family.labels, "le"), (*values, bound))
        yield f"{family.name}_bucket{labels} {count}\n"
    labels = _format_labels(family.labels, values)
    yield f"{family.name}_sum{labels} {_format_number(histogram.total)}\n"
    yield f"{family.name}_count{labels} {count}\n"


def _format_labels(names: Sequence[str], values: Sequence[str]) -> str:
    pairs = zip(names, values, strict=True)
    inside = ",".join(f'{name}="{value.translate(ESCAPED)}"' for name, value in pairs)
    return f"{{{inside}}}" if inside else ""


def _format_number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
