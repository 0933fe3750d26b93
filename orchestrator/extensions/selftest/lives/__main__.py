"""Run courses of several nodes: ``… lives FIRST LAST STEP``, each STEP-th seed.

One JSON line is written for each, as by the simulator of one daemon. `PYTHONHASHSEED` must be set.
"""

import gc
import hashlib
import json
import logging
import sys

import structlog

from orchestrator.extensions.selftest.lives.sharing_course import SharingCourse

KEPT = 50  # courses until garbage is collected


def report_course(seed: int) -> dict[str, object]:
    """Run the course of a seed and return its report."""
    course = SharingCourse(seed)
    violations = course.run()
    return {
        "seed": seed,
        "trace": hashlib.sha256("\n".join(course.trace).encode()).hexdigest(),
        "events": None,
        "scripts": course.trace,
        "violations": violations,
    }


def main() -> None:
    """Run the courses that the arguments name."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    gc.disable()
    for number, seed in enumerate(range(*map(int, sys.argv[1:4])), 1):
        sys.stdout.write(json.dumps(report_course(seed)) + "\n")
        sys.stdout.flush()
        if number % KEPT == 0:
            gc.collect()


if __name__ == "__main__":
    main()
