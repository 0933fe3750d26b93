"""One process of a simulation: ``… simulator FIRST LAST STEP [EVENTS]`` or ``… NAME KIND [all]``.

The first runs every STEP-th seed. EVENTS are the numbers of the events that happen, or ``all``;
without them a course that fails is shrunk. The second runs the directed course NAME, then with a
crash of KIND at each failpoint, once or, with ``all``, however often it is passed.

One JSON line is written for each course. `PYTHONHASHSEED` must be set, because a seed decides the
order of sets as well. The ``trace`` is a hash of the failpoints that a history passed, to compare
two runs.
"""

import gc
import hashlib
import json
import logging
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import structlog

from orchestrator.extensions.selftest.crash.invariants import Violation
from orchestrator.extensions.selftest.simulator.directed_courses import COURSES, add_crashes
from orchestrator.extensions.selftest.simulator.history_plan import HistoryPlan, Kind, make_course
from orchestrator.extensions.selftest.simulator.shrinking import shrink_course
from orchestrator.extensions.selftest.simulator.simulation import Simulation
from thinker.jail import kernel

BATCH = 20  # courses of a process: a killed daemon's tasks keep each other alive


def run_course(course: HistoryPlan) -> tuple[list[Violation], list[str]]:
    """Run a course in a new folder; return violations and trace."""
    with tempfile.TemporaryDirectory() as folder:
        simulation = Simulation(course, Path(folder))
        return simulation.run(), simulation.trace


def report_course(course: HistoryPlan, *, shrink: bool) -> list[str]:
    """Run a course, ``shrink`` it if it fails, and write its report; return its trace."""
    found, trace = run_course(course)
    if found and shrink:
        course, found = shrink_course(course, found, lambda shorter: run_course(shorter)[0])
    report = {
        "seed": course.seed,
        "trace": hashlib.sha256("\n".join(trace).encode()).hexdigest(),
        "events": {str(number): str(event) for number, event in course.select_events().items()},
        "scripts": [repr(script) for script in course.build_scenario().values()],
        "violations": [f"{violation.check}: {violation.sentence}" for violation in found],
    }
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()
    return trace


def run_seeds(first: int, last: int, step: int, events: Sequence[str]) -> None:
    only = None if events in ([], ["all"]) else tuple(map(int, events[0].split(",")))
    courses = [make_course(seed, only) for seed in range(first, last, step)]
    for course in courses[:1]:  # the others reuse what this one imports and compiles
        report_course(course, shrink=not events)
    run_batches(courses[1:], shrink=not events)


def run_directed_course(name: str, kind: Kind, *, every: bool) -> None:
    trace = report_course(COURSES[name], shrink=False)[:-1]
    run_batches(list(add_crashes(name, kind, trace, every=every)), shrink=False)


def run_batches(courses: Sequence[HistoryPlan], *, shrink: bool) -> None:
    """Run courses, a few in each process."""
    for start in range(0, len(courses), BATCH):
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            kernel.die_with_parent(parent)
            for course in courses[start : start + BATCH]:
                report_course(course, shrink=shrink)
            os._exit(0)
        if os.waitpid(pid, 0)[1] != 0:
            raise SystemExit(f"the courses from {courses[start].seed} on ended their process")


def main() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    sys.unraisablehook = lambda _: None  # ignores tasks that a kill interrupted
    gc.disable()  # a process ends before there is much garbage
    name, *arguments = sys.argv[1:]
    if name in COURSES:
        run_directed_course(name, cast("Kind", arguments[0]), every="all" in arguments)
    else:
        last, step, *events = arguments
        run_seeds(int(name), int(last), int(step), events)


if __name__ == "__main__":
    main()
