"""Objects bound to the event loop, and a debug mode that catches journal jobs touching them.

Jobs of the journal run on another thread, between any two steps of the loop. What they read may be
changed meanwhile, and what they write is lost to a loop that has read before. So a job gets plain
data that was gathered on the loop.

``ORCHESTRATOR_DEBUG`` switches the check on, before the program starts; the tests and the self-test
do so. Without it, it costs nothing.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

_this_thread = threading.local()


class LoopBoundError(AssertionError):
    """A journal job touched an object that is bound to the event loop."""


class LoopBound:
    """Base of objects that are bound to the event loop.

    In debug mode, a job of the journal may neither read nor write an attribute of such an object.
    """

    is_checked: ClassVar[bool] = False  # whether this process is in that mode


@contextmanager
def mark_journal_job() -> Iterator[None]:
    """Mark the block as a job of the journal."""
    _this_thread.in_job = True
    try:
        yield
    finally:
        _this_thread.in_job = False


def enable_check() -> None:
    """Switch the check on for this process; jobs must be marked from then on."""
    LoopBound.is_checked = True
    LoopBound.__getattribute__ = _read_checked  # type: ignore[method-assign]
    LoopBound.__setattr__ = _write_checked  # type: ignore[method-assign]


def _read_checked(self: object, name: str) -> object:
    if not name.startswith("__"):
        _require_loop(self, name)
    return object.__getattribute__(self, name)


def _write_checked(self: object, name: str, value: object) -> None:
    _require_loop(self, name)
    object.__setattr__(self, name, value)


def _require_loop(owned: object, name: str) -> None:
    if getattr(_this_thread, "in_job", False):
        raise LoopBoundError(
            f"a job of the journal touched {type(owned).__name__}.{name}, which belongs to the"
            " event loop; gather what the job needs before, and pass it as an argument"
        )


if os.environ.get("ORCHESTRATOR_DEBUG"):
    enable_check()
