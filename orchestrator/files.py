"""Write files that only this user can read, and keep work with files off the event loop."""

import asyncio
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol, Self, TypeVar, TypeVarTuple
from uuid import uuid4

import anyio
from anyio import to_thread

FILE_SECONDS = 10.0  # seconds for a file system to answer; a disk takes milliseconds
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class OffLoop(Protocol):
    """Runs blocking work on files and returns its result; see `run_off_loop`."""

    async def __call__(self, function: Callable[[*Ts], T], /, *arguments: *Ts) -> T:
        """Return the function's result, or raise what `run_off_loop` does."""


async def run_off_loop(function: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """Run blocking file work in a thread, so that no file system can stop the event loop.

    The thread is abandoned when the caller is cancelled, or when it has not computed anything for
    `FILE_SECONDS` seconds: it waits for a file system then. So the function must change nothing
    that others see.

    Raises:
        TimeoutError: the file system does not answer; the message says what to do.
    """
    with anyio.CancelScope() as scope, _WatchedWork(scope) as work:
        return await to_thread.run_sync(work.run, function, *arguments, abandon_on_cancel=True)
    raise TimeoutError(f"no answer in {FILE_SECONDS:.0f} seconds; check its file system")


class _WatchedWork:
    """A thread's work, whose ``scope`` is cancelled once it has waited for `FILE_SECONDS`.

    A thread that waits for a file system uses no CPU time, unlike one that reads a long file.
    """

    def __init__(self, scope: anyio.CancelScope) -> None:
        self._scope = scope
        self._clock: int | None = None  # of the CPU time of its thread, once it has one
        self._used = 0.0

    def run(self, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
        self._used = time.thread_time()
        self._clock = time.pthread_getcpuclockid(threading.get_ident())
        return function(*arguments)

    def __enter__(self) -> Self:
        self._watch_on()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def _watch_on(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(FILE_SECONDS, self._look)

    def _look(self) -> None:
        before = self._used
        if self._clock is not None:
            with suppress(OSError):  # the thread has just ended
                self._used = time.clock_gettime(self._clock)
        if self._used > before:
            self._watch_on()
        else:
            self._scope.cancel()


def write_private(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Replace a file atomically, readable only by this user."""
    fresh = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
