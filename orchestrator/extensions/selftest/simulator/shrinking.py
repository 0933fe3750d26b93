"""Find the events that a failure needs."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from orchestrator.extensions.selftest.crash.invariants import Violation
from orchestrator.extensions.selftest.simulator.history_plan import HistoryPlan

TRIES = 300  # runs of a shorter course, at most


def shrink_course(
    course: HistoryPlan,
    violations: Sequence[Violation],
    run: Callable[[HistoryPlan], list[Violation]],
) -> tuple[HistoryPlan, list[Violation]]:
    """Return a shortest course that still fails one of the same checks, and its violations.

    Half of the events is left out, then a quarter and so on, until each event is needed.
    """
    checks, found = {violation.check for violation in violations}, list(violations)
    kept, tries = list(course.select_events()), 0
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
