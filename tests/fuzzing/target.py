"""What is fuzzed: inputs, the promise that each must keep, and inputs whose size can be chosen."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

SMALL, TIMES = 10_000, 10  # characters (or pieces), and how often them the larger input is
ALLOWED = 30.0  # times the cost of the small input; the square would be a hundred
NOTHING = 0.02  # seconds; what costs less is not compared
TRIES = 4  # before a ratio is believed: other programs run, too

T = TypeVar("T")
Sized = Callable[[Any, int], Callable[[], object]]


@dataclass(frozen=True)
class Target:
    """``check`` raises for an input that breaks a promise.

    ``sized`` makes of a unit (from ``units``) and a size the work whose cost is compared.
    """

    inputs: SearchStrategy[Any]
    check: Callable[[Any], None]
    units: SearchStrategy[Any]
    sized: Sized


def check_cost(sized: Sized, unit: object, clock: Callable[[], float] = time.process_time) -> None:
    """Ten times the input may not cost much more than ten times as much.

    Raises:
        AssertionError: it does, every time that it was measured.
    """
    small, large = sized(unit, SMALL), sized(unit, SMALL * TIMES)
    ratio = 0.0
    for _ in range(TRIES):
        most = _seconds(large, clock)
        if most < NOTHING:
            return
        ratio = most / max(min(_seconds(small, clock) for _ in range(3)), NOTHING / TIMES)
        if ratio <= ALLOWED:
            return
    raise AssertionError(f"{TIMES} times the input costs {ratio:.0f} times as much")


def _seconds(work: Callable[[], object], clock: Callable[[], float]) -> float:
    start = clock()
    work()
    return clock() - start


def repeated(unit: str, size: int) -> str:
    """A text of about this size that is nothing but the unit, again and again."""
    return unit * max(1, size // len(unit))


CUTS = st.lists(st.integers(0, 300), max_size=12)


def pieces(whole: T, cuts: list[int]) -> list[T]:
    """A text (or bytes) cut at these places."""
    size = len(whole)  # type: ignore[arg-type] # str and bytes, which no bound of T names
    edges = sorted({0, size, *(cut for cut in cuts if cut < size)})
    return [whole[a:b] for a, b in pairwise(edges)] or [whole]  # type: ignore[index] # as above
