"""Write files that only this user can read, and keep work with files off the event loop."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar, TypeVarTuple
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

    The thread is abandoned when the caller is cancelled, or after `FILE_SECONDS` seconds. So the
    function must change nothing that others see.

    Raises:
        TimeoutError: the file system does not answer; the message says what to do.
    """
    with anyio.move_on_after(FILE_SECONDS):
        return await to_thread.run_sync(function, *arguments, abandon_on_cancel=True)
    raise TimeoutError(f"no answer in {FILE_SECONDS:.0f} seconds; check its file system")


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
