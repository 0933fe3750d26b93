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
import os
import sys
import tempfile
from pathlib import Path

import structlog

from orchestrator.selftest.invariants import Violation
from orchestrator.simulator.course import Course, course_of
from orchestrator.simulator.shrinking import shrunk
from orchestrator.simulator.simulation import Simulation
from orchestrator.toolhost.guardian import die_with

BATCH = 20  # seeds of a process: a killed daemon's tasks keep each other alive


def run(course: Course) -> tuple[list[Violation], str]:
    """Run a course in a new folder; return violations and trace."""
    with tempfile.TemporaryDirectory() as folder:
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
    gc.disable()  # a process ends before its garbage is large

    def run_some(seeds: range) -> None:
        for seed in seeds:
            sys.stdout.write(json.dumps(report(seed, only, shrink=not events)) + "\n")
            sys.stdout.flush()

    chosen = range(first, last, step)
    run_some(chosen[:1])  # what it imports and compiles, the others find
    for start in range(1, len(chosen), BATCH):
        seeds = chosen[start : start + BATCH]
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            die_with(parent)
            run_some(seeds)
            return
        if os.waitpid(pid, 0)[1] != 0:
            raise SystemExit(f"the seeds {seeds} ended their process")


if __name__ == "__main__":
    main()
