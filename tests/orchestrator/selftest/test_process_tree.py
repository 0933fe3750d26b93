"""Processes may end at any time, also while the self-test signals them."""

import signal

import anyio
import pytest
from fakes.time_limit import time_limit

from orchestrator.selftest import process_tree


async def test_signal_to_a_child_that_has_just_ended_is_no_error() -> None:
    """A kill of a history may come as the daemon is asked to stop."""
    with time_limit():
        process = await anyio.open_process(["true"], stdin=None, stdout=None, stderr=None)
        assert await process.wait() == 0
        for _ in range(10):  # the loop forgets it a few rounds later
            await anyio.lowlevel.checkpoint()
        with pytest.raises(ProcessLookupError):
            process.terminate()
        process_tree.send(process, signal.SIGTERM)
        assert process.returncode == 0
