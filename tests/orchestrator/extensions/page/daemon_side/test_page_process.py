"""Where the page listens."""

import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from fakes.time_limit import time_limit

from orchestrator.errors import WorkerError
from orchestrator.extensions.page.daemon_side.page_process import PageProcess
from orchestrator.extensions.page.page_wire import STORE_VARIABLE
from orchestrator.processes.child_process import Program, SpawnedChild
from orchestrator.settings import Settings
from orchestrator.testing.loopback import find_free_port


@pytest.fixture
def home() -> Iterator[Path]:
    """A home whose name leaves room for that of a socket."""
    with tempfile.TemporaryDirectory(prefix="page-") as name:
        yield Path(name)


async def test_port_that_was_just_opened_stays_open(tmp_path: Path) -> None:
    """The link is printed before the loop has seen that the page is on."""
    process = PageProcess(Settings(home=tmp_path), {}, lambda: 0.0)
    port = find_free_port()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(process.run)
        await anyio.wait_all_tasks_blocked()
        process.configure(port)
        process.try_listening()
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
        assert process.try_listening() is not None
        assert "channels.web.port" in process.problem


async def test_socket_is_for_this_user_alone_and_goes_with_the_page(home: Path) -> None:
    """One that a killed daemon has left is in no one's way."""
    process, path = PageProcess(Settings(home=home), {}, lambda: 0.0), home / "page.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(process.run)
        await anyio.wait_all_tasks_blocked()
        process.configure(path)
        process.try_listening()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
        process.configure(None)
        with time_limit():
            while path.exists():
                await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()


def test_socket_without_its_folder_is_a_problem(home: Path) -> None:
    """And is tried again."""
    process = PageProcess(Settings(home=home), {}, lambda: 0.0)
    process.configure(home / "none" / "page.sock")
    assert process.try_listening() is not None
    assert "cannot listen on" in process.problem


@pytest.mark.parametrize("store", ["postgresql://ann:pass-word@db/journal", ""])
async def test_address_of_a_database_is_in_the_environment_alone(home: Path, store: str) -> None:
    """Arguments are for all to see. What else libpq reads is as the daemon has it."""
    started: list[Program] = []

    async def spawn(program: Program) -> SpawnedChild:
        started.append(program)
        raise WorkerError("not here")

    environ = {"ORCHESTRATOR_HOME": str(home), STORE_VARIABLE: store, "PGSSLMODE": "require"}
    process = PageProcess(Settings.read_environ(environ), environ, lambda: 0.0, spawn=spawn)
    with pytest.raises(WorkerError):
        async with process.start():
            pass
    (program,) = started
    assert "pass-word" not in " ".join(program.argv)
    found = {name: program.env.get(name, "") for name in (STORE_VARIABLE, "PGSSLMODE")}
    assert found == {STORE_VARIABLE: store, "PGSSLMODE": "require" if store else ""}
