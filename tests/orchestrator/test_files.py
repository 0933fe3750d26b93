"""Work with files is kept off the event loop, and no file system can hold a process."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import anyio
import pytest
from fakes.time_limit import LIMIT, time_limit

from orchestrator.files import run_off_loop, write_private

HANGS = """
import sys, threading
from orchestrator import cli
threading.Thread(target=threading.Event().wait).start()
sys.argv = ["orchestrator", "--version"]
cli.main()
"""


async def test_read_that_never_ends_ends_with_its_caller() -> None:
    """So that a signal to stop is obeyed at any moment."""
    begun, held = threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        held.wait()

    with time_limit():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run_off_loop, hang)
            await run_off_loop(begun.wait)
            tasks.cancel_scope.cancel()
    held.set()


async def test_read_without_an_end_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait is bounded, and the message says what to look at."""
    monkeypatch.setattr("orchestrator.files.FILE_SECONDS", 0.0)
    held = threading.Event()
    with time_limit(), pytest.raises(TimeoutError, match="check its file system"):
        await run_off_loop(held.wait)
    held.set()


async def test_long_computation_is_not_a_silent_file_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A file of ten thousand agents takes longer to check on a busy machine."""
    monkeypatch.setattr("orchestrator.files.FILE_SECONDS", 0.1)

    def compute() -> str:
        end = time.thread_time() + 0.4
        while time.thread_time() < end:
            pass
        return "done"

    with time_limit():
        assert await run_off_loop(compute) == "done"


@pytest.mark.process
def test_process_ends_while_one_of_its_threads_hangs() -> None:
    """Python alone would wait for the thread for ever."""
    done = subprocess.run(
        [sys.executable, "-c", HANGS], capture_output=True, check=False, timeout=LIMIT
    )
    assert (done.returncode, done.stdout.startswith(b"orchestrator ")) == (0, True)


def test_file_is_replaced_whole_for_this_user_alone(tmp_path: Path) -> None:
    """Nothing else is left beside it, also when the place is a folder."""
    path = tmp_path / "token"
    for data in (b"one", b"two"):
        write_private(path, data)
        assert (path.read_bytes(), path.stat().st_mode & 0o777) == (data, 0o600)
    write_private(path, data, 0o700)
    assert path.stat().st_mode & 0o777 == 0o700
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        write_private(tmp_path / "folder", b"three")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["folder", "token"]
