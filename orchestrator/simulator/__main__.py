"""One process of a simulation: ``… simulator FIRST LAST STEP [EVENTS]``.

It runs every STEP-th seed and writes one JSON line for each. EVENTS are the numbers of the events
that happen, or ``all``; without them a course that fails is shrunk. `PYTHONHASHSEED` must be set,
because a seed decides the order of sets as well. The ``trace`` of a seed is a hash of what its
history passed through, to see that two runs are equal.
"""

import gc
import hashlib
import json
import logging
import sys
import tempfile
from pathlib import Path

import structlog

from orchestrator.selftest.invariants import Violation
from orchestrator.simulator.course import Course, course_of
from orchestrator.simulator.shrinking import shrunk
from orchestrator.simulator.simulation import Simulation

MEMORY = Path("/dev/shm")  # noqa: S108 - the folder below it has a random name and is private


def run(course: Course) -> tuple[list[Violation], str]:
    """Run a course in a new folder, in memory where possible; return violations and trace."""
    place = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="simulate-", dir=place) as folder:
        simulation = Simulation(course, Path(folder))
        found = simulation.run()
    return found, hashlib.sha256("\n".join(simulation.trace).encode()).hexdigest()


def report(seed: int, only: tuple[int, ...] | None, *, shrink: bool) -> dict[str, object]:
    """Run a seed; ``shrink`` its course if it fails."""
    course = course_of(seed, only)
    found, trace = run(course)
    if found and shrink:
        course, found = shrunk(course, found, lambda shorter: run(shorter)[0])
    return {
        "seed": seed,
        "trace": trace,
        "events": {str(number): str(event) for number, event in course.present().items()},
        "scripts": [repr(script) for script in course.scenario().values()],
        "violations": [f"{violation.check}: {violation.sentence}" for violation in found],
    }


def main() -> None:
    first, last, step = map(int, sys.argv[1:4])
    events = sys.argv[4:]
    only = None if events in ([], ["all"]) else tuple(map(int, events[0].split(",")))
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    sys.unraisablehook = lambda _: None  # tasks that a kill left in the middle of something
    gc.disable()  # a seed's garbage is small, and is collected at once
    for seed in range(first, last, step):
        sys.stdout.write(json.dumps(report(seed, only, shrink=not events)) + "\n")
        sys.stdout.flush()
        gc.collect()
        if seed == first:
            gc.freeze()  # modules and what they keep


if __name__ == "__main__":
    main()
