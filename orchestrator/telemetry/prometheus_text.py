"""Prometheus' text exposition format, version 0.0.4."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from orchestrator.telemetry.metric_families import Family, Histogram, Labels, Readings, Series

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
ESCAPED = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


def render(readings: Iterable[Readings]) -> bytes:
    """Return the text of all families; one without series has its head alone."""
    return "".join(line for one in readings for line in _lines(*one)).encode()


def _lines(family: Family, series: Series) -> Iterator[str]:
    name = f"{family.name}_total" if family.kind == "counter" else family.name
    yield f"# HELP {name} {family.about}\n"
    yield f"# TYPE {name} {family.kind}\n"
    for values, value in series.items():
        if isinstance(value, Histogram):
            yield from _histogram(family, values, value)
        else:
            yield f"{name}{_braced(family.labels, values)} {_number(value)}\n"


def _histogram(family: Family, values: Labels, histogram: Histogram) -> Iterator[str]:
    bounds = (*(repr(float(bound)) for bound in family.bounds), "+Inf")
    count = 0
    for bound, count in zip(bounds, accumulate(histogram.buckets), strict=True):
        labels = _braced((*family.labels, "le"), (*values, bound))
        yield f"{family.name}_bucket{labels} {count}\n"
    labels = _braced(family.labels, values)
    yield f"{family.name}_sum{labels} {_number(histogram.total)}\n"
    yield f"{family.name}_count{labels} {count}\n"


def _braced(names: Sequence[str], values: Sequence[str]) -> str:
    pairs = zip(names, values, strict=True)
    inside = ",".join(f'{name}="{value.translate(ESCAPED)}"' for name, value in pairs)
    return f"{{{inside}}}" if inside else ""


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
