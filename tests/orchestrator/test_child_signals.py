"""Children may end at any time, also while they are signaled."""

import os
import signal

import anyio
import pytest
from fakes.time_limit import LIMIT, time_limit

from orchestrator.child_signals import signal_child, stop_child


def become_zombie(pid: int) -> None:
    """Wait for the end of a child while the event loop stands still, and leave it unreaped."""
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


async def test_exit_code_of_a_child_that_has_just_ended_is_kept() -> None:
    """The event loop has yet to reap it."""
    theirs, ours = os.pipe()
    with time_limit():
        process = await anyio.open_process(["cat"], stdin=theirs, stdout=None, stderr=None)
        os.close(theirs)
        os.close(ours)
        become_zombie(process.pid)
        assert process.returncode is None
        signal_child(process, signal.SIGKILL)
        assert await process.wait() == 0


async def test_signal_to_a_child_that_was_reaped_is_no_error() -> None:
    """A kill of a history may come as the daemon is asked to stop."""
    with time_limit():
        process = await anyio.open_process(["true"], stdin=None, stdout=None, stderr=None)
        assert await process.wait() == 0
        for _ in range(10):  # the loop forgets it a few rounds later
            await anyio.lowlevel.checkpoint()
        with pytest.raises(ProcessLookupError):
            process.terminate()
        signal_child(process, signal.SIGTERM)
        assert process.returncode == 0


async def test_child_that_runs_gets_the_signal() -> None:
    """Its exit code is minus the signal."""
    with time_limit():
        process = await anyio.open_process(["sleep", "600"], stdin=None, stdout=None, stderr=None)
        signal_child(process, signal.SIGTERM)
        assert await process.wait() == -signal.SIGTERM


async def test_child_that_ends_when_asked_is_not_killed() -> None:
    """A child that was never asked would run for ten minutes."""
    with time_limit():
        process = await anyio.open_process(["sleep", "600"], stdin=None, stdout=None, stderr=None)
        await stop_child(process, LIMIT)
        assert process.returncode == -signal.SIGTERM


async def test_child_that_does_not_end_in_time_is_killed() -> None:
    """It ignores what asks it to end."""
    with time_limit():
        stubborn = ["sh", "-c", "trap '' TERM; echo ready; exec sleep 600"]
        process = await anyio.open_process(stubborn, stdin=None, stderr=None)
        assert process.stdout is not None
        assert await process.stdout.receive() == b"ready\n"
        await stop_child(process, 0.0)
        assert process.returncode == -signal.SIGKILL
        await process.aclose()
