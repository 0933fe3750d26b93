"""Rounds of inputs for one target, with a bound on the time of each."""

import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from fuzzing.target import Target, check_cost
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

INPUTS, COSTS = 500, 10  # of one round
PATIENCE = 20.0  # seconds that one input may take


class HangError(Exception):
    """An input took too long."""


@dataclass(frozen=True)
class Failure:
    """An input that broke a promise, as small as it could be made."""

    kind: str
    value: object
    trace: str


class Fuzzer:
    """Counts what it tried; the same seed tries the same."""

    def __init__(self, target: Target, start: int) -> None:
        self._target = target
        self._seed = start
        self.examples = 0
        self.costs = 0

    def round(self, inputs: int = INPUTS, costs: int = COSTS) -> Failure | None:
        """Try some inputs and the cost of some others."""
        target = self._target

        def cost(unit: object) -> None:
            self.costs += 1
            check_cost(target.sized, unit)

        def check(value: object) -> None:
            self.examples += 1
            target.check(value)

        self._seed += 1
        return self._tried("promise", target.inputs, check, inputs) or (
            self._tried("cost", target.units, cost, costs) if costs else None
        )

    def _tried(
        self, kind: str, values: SearchStrategy[Any], check: Callable[[Any], None], count: int
    ) -> Failure | None:
        failing: list[object] = []

        @seed(self._seed)
        @settings(
            max_examples=count,
            deadline=None,
            database=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
        )
        @given(values)
        def attempt(value: object) -> None:
            try:
                with bounded(PATIENCE):
                    check(value)
            except Exception:
                failing.append(value)
                raise

        try:
            attempt()
        except Exception:  # noqa: BLE001 - whatever it is, it is what was looked for
            return Failure(kind, failing[-1] if failing else None, traceback.format_exc())
        return None


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """End what takes longer.

    Raises:
        HangError: it did.
    """

    def ring(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise HangError(f"no end within {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
