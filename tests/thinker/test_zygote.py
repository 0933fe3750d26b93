"""The preforked process of a zygote: the next worker."""

import os
import resource
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import pytest
from fakes.agent_process import MemoryHost, alive, real_spec, turn, until_zygote, zygotes
from fakes.inspection import holds, looks_inside
from fakes.time_limit import LIMIT, time_limit

from orchestrator.processes.reaper import wait_for_process_end
from orchestrator.processes.worker import run_worker
from orchestrator.processes.zygotes import ZygoteClient, Zygotes
from thinker.protocol import methods

pytestmark = pytest.mark.process
SECRET = "sk-not-for-the-next-one-4712"


def _sockets(pid: int) -> list[str]:
    found = []
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            found.append(str(fd.readlink()))
    return [link for link in found if link.startswith("socket:")]


def list_children(pid: int) -> list[int]:
    """Return the children of a process with one thread."""
    return [*map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split())]


async def spare_of(zygote: ZygoteClient, *workers: int) -> int:
    """Return the preforked process; requests that wait are answered before there is one."""
    await zygote.peer.request(methods.PING, timeout=LIMIT)
    while not (spares := {*list_children(zygote.pid)} - {*workers}):
        await zygote.peer.request(methods.PING, timeout=LIMIT)
    (spare,) = spares
    return spare


@asynccontextmanager
async def stocked() -> AsyncIterator[tuple[Zygotes, ZygoteClient, int]]:
    """Return a zygote, its supervisor, and its preforked process."""
    with time_limit():
        async with zygotes() as keeper:
            zygote = await until_zygote(keeper)
            yield keeper, zygote, await spare_of(zygote)


async def test_worker_is_the_process_that_was_kept_for_it(tmp_path: Path) -> None:
    """And the next process is preforked."""
    async with (
        stocked() as (keeper, zygote, spare),
        run_worker(real_spec(tmp_path), keeper.spawn_worker) as worker,
    ):
        assert worker.pid == spare
        result = await worker.run_turn(turn(), MemoryHost(), 0.0)
        assert result.text.startswith("You said: hello")
        assert await spare_of(zygote, worker.pid)


async def test_all_workers_that_are_wanted_at_once_are_forked(tmp_path: Path) -> None:
    """Although only one is preforked."""
    pids: set[int] = set()
    all_run = anyio.Event()

    async def run(name: str, keeper: Zygotes) -> None:
        async with run_worker(real_spec(tmp_path, name), keeper.spawn_worker) as worker:
            pids.add(worker.pid)
            if len(pids) == 4:
                all_run.set()
            await all_run.wait()

    async with stocked() as (keeper, zygote, _), anyio.create_task_group() as tasks:
        for name in ("a", "b", "c", "d"):
            tasks.start_soon(run, name, keeper)
        await all_run.wait()
        assert pids <= {*list_children(zygote.pid)}


async def test_kept_process_that_is_killed_is_reaped(tmp_path: Path) -> None:
    """The next fork request gets another process."""
    async with stocked() as (keeper, zygote, spare):
        os.kill(spare, signal.SIGKILL)
        while alive(spare):
            await zygote.peer.request(methods.PING, timeout=LIMIT)
        async with run_worker(real_spec(tmp_path), keeper.spawn_worker) as worker:
            assert worker.pid in list_children(zygote.pid)


async def test_kept_process_that_was_killed_just_now_is_not_missed(tmp_path: Path) -> None:
    """The zygote learns of the kill and the request at the same time."""
    async with stocked() as (keeper, zygote, spare), anyio.create_task_group() as tasks:
        os.kill(zygote.pid, signal.SIGSTOP)
        os.kill(spare, signal.SIGKILL)
        await wait_for_process_end(spare)

        async def wake() -> None:
            await anyio.wait_all_tasks_blocked()  # it is asked
            os.kill(zygote.pid, signal.SIGCONT)

        tasks.start_soon(wake)
        async with run_worker(real_spec(tmp_path), keeper.spawn_worker) as worker:
            assert worker.pid in list_children(zygote.pid)
            assert not alive(spare)


async def test_kept_process_that_is_stopped_is_replaced(tmp_path: Path) -> None:
    """It does not confirm, so another process becomes the worker, and none is left behind."""
    async with stocked() as (keeper, zygote, spare):
        os.kill(spare, signal.SIGSTOP)
        async with run_worker(real_spec(tmp_path), keeper.spawn_worker) as worker:
            assert worker.pid in {*list_children(zygote.pid)} - {spare}
            assert not alive(spare)


@looks_inside
async def test_kept_process_holds_nothing_of_anybody(tmp_path: Path) -> None:
    """No descriptor except its socket, and no variable of a running worker."""
    spec = real_spec(tmp_path, env={"NOTE": SECRET})
    with time_limit():
        async with zygotes() as keeper, run_worker(spec, keeper.spawn_worker) as worker:
            spare = await spare_of(await until_zygote(keeper), worker.pid)
            while len(sockets := _sockets(spare)) != 3:  # its own and the pair of its event loop
                await anyio.lowlevel.checkpoint()
            assert not {*sockets} & {*_sockets(worker.pid)}
            assert holds(worker.pid, SECRET)
            assert not holds(spare, SECRET)


async def test_zygote_forks_whatever_the_number_of_its_wire(tmp_path: Path) -> None:
    """A daemon with many agents has many descriptors, and its children keep the numbers."""
    spec = real_spec(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    many = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        with time_limit():
            async with zygotes() as keeper, run_worker(spec, keeper.spawn_worker) as worker:
                assert worker.pid in list_children((await until_zygote(keeper)).pid)
    finally:
        for descriptor in many:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_kept_process_ends_with_its_zygote(capfd: pytest.CaptureFixture[str]) -> None:
    """Without output."""
    async with stocked() as (_, _, spare):
        pass
    with time_limit():
        await wait_for_process_end(spare)
    assert "Traceback" not in capfd.readouterr().err
