"""Shrinking: what is left is what the failure needs."""

from collections.abc import Callable, Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.selftest.invariants import Violation
from orchestrator.simulator.course import Course, course_of
from orchestrator.simulator.shrinking import shrunk

COURSE = course_of(3)
EVENTS = len(COURSE.events)
LOST = Violation("lost", "it is gone")


def failing(needed: Collection[int]) -> Callable[[Course], list[Violation]]:
    """A run that fails while all these events happen."""
    return lambda course: [LOST] if set(needed) <= set(course.present()) else []


@given(st.sets(st.integers(0, EVENTS - 1)))
def test_exactly_the_needed_events_are_left(needed: set[int]) -> None:
    """Whichever they are."""
    course, found = shrunk(COURSE, [LOST], failing(needed))
    assert set(course.present()) == needed
    assert found == [LOST]


@pytest.mark.parametrize("check", ["lost", "order"])
def test_another_failure_does_not_count(check: str) -> None:
    """A shorter course that breaks another promise is not the same failure."""

    def run(course: Course) -> list[Violation]:
        whole = len(course.present()) == EVENTS
        return [Violation("lost" if whole else check, "it is gone")]

    course, _ = shrunk(COURSE, [LOST], run)
    assert (len(course.present()) == EVENTS) is (check == "order")
