"""Find the events that a failure needs."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from orchestrator.selftest.invariants import Violation
from orchestrator.simulator.course import Course

TRIES = 300  # runs of a shorter course, at most


def shrunk(
    course: Course, violations: Sequence[Violation], run: Callable[[Course], list[Violation]]
) -> tuple[Course, list[Violation]]:
    """Return a shortest course that still fails one of the same checks, and what it shows.

    Half of the events is left out, then a quarter and so on, until each event is needed.
    """
    checks, found = {violation.check for violation in violations}, list(violations)
    kept, tries = list(course.present()), 0
    size = len(kept) // 2
    while size:
        before = len(kept)
        for start in reversed(range(0, len(kept), size)):
            fewer = kept[:start] + kept[start + size :]
            shorter = replace(course, only=tuple(fewer))
            tries += 1
            shown = run(shorter) if tries <= TRIES else []
            if not checks.isdisjoint(violation.check for violation in shown):
                kept, found = fewer, shown
        size = min(size, len(kept)) if size == 1 and len(kept) < before else size // 2
    return replace(course, only=tuple(kept)), found
