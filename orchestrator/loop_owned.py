"""Objects of the event loop, and a debug mode that finds a journal's job which touches them.

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

_this_thread = threading.local()


class LoopTouchedError(AssertionError):
    """A job of the journal touched what only the event loop may."""


class LoopOwned:
    """A base of what belongs to the event loop.

    In debug mode, a job of the journal may neither read nor write an attribute of it.
    """


@contextmanager
def off_the_loop() -> Iterator[None]:
    """Say that the block is a job of the journal."""
    _this_thread.in_job = True
    try:
        yield
    finally:
        _this_thread.in_job = False


def switch_on() -> None:
    """Check from now on, in this process."""
    LoopOwned.__getattribute__ = _read  # type: ignore[method-assign]
    LoopOwned.__setattr__ = _write  # type: ignore[method-assign]


def _read(self: object, name: str) -> object:
    if not name.startswith("__"):
        _check(self, name)
    return object.__getattribute__(self, name)


def _write(self: object, name: str, value: object) -> None:
    _check(self, name)
    object.__setattr__(self, name, value)


def _check(owned: object, name: str) -> None:
    if getattr(_this_thread, "in_job", False):
        raise LoopTouchedError(
            f"a job of the journal touched {type(owned).__name__}.{name}, which belongs to the"
            " event loop; gather what the job needs before, and pass it as an argument"
        )


if os.environ.get("ORCHESTRATOR_DEBUG"):
    switch_on()
