"""Programs that the daemon runs, beside the reaper of orphans."""

import os
import subprocess
from pathlib import Path

import anyio
import pytest
from anyio import lowlevel
from anyio.abc import Process
from fakes.time_limit import time_limit

from orchestrator.processes import reaper
from orchestrator.processes.own_programs import is_own_program, open_program, run_program


def list_children() -> set[int]:
    """The ids of this process's children."""
    return {one.pid for one in reaper.iter_processes() if one.parent == os.getpid()}


async def test_program_runs_to_its_end_when_another_child_ends(tmp_path: Path) -> None:
    """At the end of each child the reaper looks at all others, and kills who is no one's."""
    fifo, others, looked = tmp_path / "fifo", list_children(), anyio.Event()
    os.mkfifo(fifo)
    found: list[subprocess.CompletedProcess[bytes]] = []

    def is_reaped_elsewhere(process: reaper.Process) -> bool:
        if process.pid in others:
            return True
        looked.set()
        return is_own_program(process.pid)

    async def run() -> None:
        script = 'read -r line < "$0"; echo "$line"; echo bad >&2; exit 3'
        found.append(await run_program(["sh", "-c", script, str(fifo)]))

    fd = os.open(fifo, os.O_RDWR)
    try:
        with time_limit():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(reaper.reap_orphans, is_reaped_elsewhere)
                await anyio.wait_all_tasks_blocked()
                async with anyio.create_task_group() as running:
                    running.start_soon(run)
                    await anyio.wait_all_tasks_blocked()
                    assert (await run_program(["true"])).returncode == 0
                    await looked.wait()
                    os.write(fd, b"whole\n")
                tasks.cancel_scope.cancel()
    finally:
        os.close(fd)
    (done,) = found
    assert (done.returncode, done.stdout, done.stderr) == (3, b"whole\n", b"bad\n")


async def test_program_is_killed_with_its_block() -> None:
    """Then it is no one's, and its number may become another process's."""
    opened: list[Process] = []
    with time_limit(), anyio.CancelScope() as scope:
        async with open_program(["cat"]) as process:
            opened.append(process)
            assert is_own_program(process.pid)
            scope.cancel()
            await lowlevel.checkpoint()
    assert opened[0].returncode is not None
    assert not is_own_program(opened[0].pid)


async def test_program_that_cannot_start_leaves_orphans_to_the_reaper(tmp_path: Path) -> None:
    """The wait for its id ends with the error."""
    with pytest.raises(FileNotFoundError):
        await run_program([str(tmp_path / "none")])
    assert not is_own_program(1)
