"""Signal a child process that asyncio reaps."""

import os
from contextlib import suppress
from signal import Signals
from typing import Protocol


class Child(Protocol):
    """A process of `anyio.open_process`, or one like it; ``returncode`` is None while it runs."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...


def signal_child(process: Child, number: Signals) -> None:
    """Send a signal to a child; it is no error that the child has just ended.

    `Process.send_signal` reaps such a child. The event loop, which comes too late then, writes a
    warning to stderr and takes 255 for its exit code.
    """
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.kill(process.pid, number)
