"""Send signals to a child process that asyncio reaps."""

import os
from contextlib import suppress
from signal import SIGKILL, SIGTERM, Signals
from typing import Protocol

import anyio


class Child(Protocol):
    """A process of `anyio.open_process`, or one with the same interface.

    Its ``returncode`` is known some time after its end, and None until then.
    """

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    async def wait(self) -> int:
        """Wait for the process to end; return its exit code, or the negative signal number."""


def signal_child(process: Child, number: Signals) -> None:
    """Send a signal to a child; ignore that it has just ended.

    `Process.send_signal` reaps such a child. The event loop, which comes too late then, writes a
    warning to stderr and takes 255 for its exit code.
    """
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.kill(process.pid, number)


async def stop_child(process: Child, within: float) -> None:
    """Wait for a child to end, and kill it after ``within`` seconds."""
    signal_child(process, SIGTERM)
    with anyio.move_on_after(within):
        await process.wait()
    signal_child(process, SIGKILL)
    await process.wait()
