"""A child that starts slowly gets more time with each try."""

import sys
from pathlib import Path

import pytest
from fakes.time_limit import time_limit

from orchestrator.errors import WorkerError
from orchestrator.processes import child_process
from orchestrator.processes.child_process import ChildProcess, Program, run_child

pytestmark = pytest.mark.process


async def test_a_child_that_starts_slowly_has_twice_as_long_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loaded machine would end the same start again and again; there is a limit."""
    monkeypatch.setattr(child_process, "READY_TIMEOUT", 0.05)
    monkeypatch.setattr(child_process, "MAX_READY_TIMEOUT", 0.1)
    argv = (sys.executable, "-c", "import signal; signal.pause()")
    program = Program("the slow one", argv, {}, tmp_path, "FD")
    found = []
    with time_limit():
        for _ in range(3):
            with pytest.raises(WorkerError) as failed:
                async with run_child(program, ChildProcess):
                    pass
            found.append(str(failed.value))
    assert found == [
        "the slow one was not ready in 0.05 s; its next start has 0.1 s",
        *["the slow one was not ready in 0.1 s; its next start has 0.1 s"] * 2,
    ]
