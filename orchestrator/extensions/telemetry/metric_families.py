"""Metrics in memory: families of series that differ in labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, NamedTuple, TypeAlias, TypeVar

MAX_VALUES = 200  # of one label: invented names of models or clients cannot fill the memory
MAX_CHARACTERS = 100  # of such a value
OTHER = "other"  # replaces all further ones
Labels: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Histogram:
    """The number of values in each bucket, and the sum of all.

    A bucket has the values up to its bound and above the one before; the last has no bound.
    """

    buckets: tuple[int, ...]
    total: float

    def __add__(self, other: "Histogram") -> "Histogram":
        pairs = zip(self.buckets, other.buckets, strict=True)
        return Histogram(tuple(one + more for one, more in pairs), self.total + other.total)


class Family(NamedTuple):
    """The common definition of series with one name.

    ``name`` lacks the suffix of Prometheus' counters. ``bounds`` are a histogram's bucket bounds,
    in ``unit`` as OTLP writes it.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    about: str
    labels: Labels = ()
    unit: str = ""
    bounds: tuple[float, ...] = ()


Series: TypeAlias = Mapping[Labels, float | Histogram]  # by the values of the labels


class Readings(NamedTuple):
    """The values of a family at one moment."""

    family: Family
    series: Series


Amount = TypeVar("Amount", float, Histogram)


@dataclass
class CounterFamily(Generic[Amount]):
    """A family whose values only grow during the process's life."""

    family: Family
    _values: dict[Labels, Amount] = field(default_factory=dict, init=False)
    _known: list[set[str]] = field(init=False)

    def __post_init__(self) -> None:
        self._known = [set() for _ in self.family.labels]

    def add(self, values: Sequence[str], amount: Amount) -> None:
        """Add to a series; a label with too many values gets `OTHER` instead of a new one."""
        key = tuple(map(_bound_label, values, self._known))
        self._values[key] = self._values[key] + amount if key in self._values else amount

    def build_readings(self) -> Readings:
        return Readings(self.family, dict(self._values.items()))


def _bound_label(value: str, known: set[str]) -> str:
    short = value[:MAX_CHARACTERS]
    if short not in known and len(known) >= MAX_VALUES:
        return OTHER
    known.add(short)
    return short
