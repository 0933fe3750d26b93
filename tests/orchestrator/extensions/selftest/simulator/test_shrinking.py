"""Shrinking: what is left is what the failure needs."""

from collections.abc import Callable, Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.extensions.selftest.crash.invariants import Violation
from orchestrator.extensions.selftest.simulator.history_plan import HistoryPlan, make_course
from orchestrator.extensions.selftest.simulator.shrinking import shrink_course

COURSE = make_course(3)
EVENTS = len(COURSE.events)
LOST = Violation("lost", "it is gone")


def failing(needed: Collection[int]) -> Callable[[HistoryPlan], list[Violation]]:
    """A run that fails while all these events happen."""
    return lambda course: [LOST] if set(needed) <= set(course.select_events()) else []


@given(st.sets(st.integers(0, EVENTS - 1)))
def test_exactly_the_needed_events_are_left(needed: set[int]) -> None:
    """Whichever they are."""
    course, found = shrink_course(COURSE, [LOST], failing(needed))
    assert set(course.select_events()) == needed
    assert found == [LOST]


@pytest.mark.parametrize("check", ["lost", "order"])
def test_another_failure_does_not_count(check: str) -> None:
    """A shorter course that breaks another promise is not the same failure."""

    def run(course: HistoryPlan) -> list[Violation]:
        whole = len(course.select_events()) == EVENTS
        return [Violation("lost" if whole else check, "it is gone")]

    course, _ = shrink_course(COURSE, [LOST], run)
    assert (len(course.select_events()) == EVENTS) is (check == "order")
