"""Measure work without a clock."""

import sys
from collections.abc import Callable
from types import FrameType


def call_count(work: Callable[[], object]) -> int:
    """Return how many functions are called by ``work``, which does not depend on the machine."""
    count = 0

    def called(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        del frame, argument
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
