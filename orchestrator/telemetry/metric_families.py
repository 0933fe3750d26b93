"""Metrics in memory: families of series that differ in their labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, NamedTuple, TypeAlias, TypeVar

MOST_VALUES = 200  # of one label, so that names which models or clients make up cannot fill memory
LONGEST = 100  # characters of such a value
OTHER = "other"  # stands for all further ones
Labels: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Histogram:
    """How many values each bucket has, and the sum of all.

    A bucket has the values up to its bound and above the one before; the last has no bound.
    """

    buckets: tuple[int, ...]
    total: float

    def __add__(self, other: "Histogram") -> "Histogram":
        pairs = zip(self.buckets, other.buckets, strict=True)
        return Histogram(tuple(one + more for one, more in pairs), self.total + other.total)


class Family(NamedTuple):
    """What series with one name have in common.

    ``name`` is without the ending that a counter has in Prometheus. ``bounds`` are those of a
    histogram's buckets, in ``unit``, which has the form of OTLP.
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
class Growing(Generic[Amount]):
    """A family whose values only grow, for as long as this process lives."""

    family: Family
    _values: dict[Labels, Amount] = field(default_factory=dict, init=False)
    _known: list[set[str]] = field(init=False)

    def __post_init__(self) -> None:
        self._known = [set() for _ in self.family.labels]

    def add(self, values: Sequence[str], amount: Amount) -> None:
        """Add to a series; a label with too many values gets `OTHER` instead of a new one."""
        key = tuple(map(_bounded, values, self._known))
        self._values[key] = self._values[key] + amount if key in self._values else amount

    def readings(self) -> Readings:
        return Readings(self.family, dict(self._values.items()))


def _bounded(value: str, known: set[str]) -> str:
    short = value[:LONGEST]
    if short not in known and len(known) >= MOST_VALUES:
        return OTHER
    known.add(short)
    return short
