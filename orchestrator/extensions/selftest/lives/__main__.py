"""Run courses of several nodes: ``python -m … lives FIRST LAST``; one JSON line for each."""

import gc
import json
import logging
import sys

import structlog

from orchestrator.extensions.selftest.lives.sharing_course import SharingCourse


def main() -> None:
    """Run the courses of these seeds."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    gc.disable()
    first, last = map(int, sys.argv[1:3])
    for seed in range(first, last):
        course = SharingCourse(seed)
        report = {"seed": seed, "violations": course.run(), "trace": course.trace}
        sys.stdout.write(json.dumps(report) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
