"""Where the page listens."""

import socket
from pathlib import Path

import anyio
import anyio.lowlevel
from fakes.time_limit import time_limit

from orchestrator.processes.page_process import PageProcess
from orchestrator.settings import Settings


def free_port() -> int:
    """A port that no one listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


async def test_port_that_was_just_opened_stays_open(tmp_path: Path) -> None:
    """The link is printed before the loop has seen that the page is on."""
    process = PageProcess(Settings(home=tmp_path), {}, lambda: 0.0)
    port = free_port()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(process.run)
        await anyio.wait_all_tasks_blocked()
        process.configure(port)
        process.listen()
        first = process.listener
        await anyio.wait_all_tasks_blocked()
        assert process.listener is first
        process.configure(None)
        with time_limit():
            while process.listener is not None:
                await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()


def test_port_of_another_program_is_a_problem_that_says_what_to_do(tmp_path: Path) -> None:
    """And is tried again."""
    process = PageProcess(Settings(home=tmp_path), {}, lambda: 0.0)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        process.configure(int(taken.getsockname()[1]))
        assert process.listen() is not None
        assert "channels.web.port" in process.problem
