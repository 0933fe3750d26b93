"""Forked workers: the same as executed ones, without a secret in between, and never an orphan."""

import os
import resource
import signal
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from fakes.agent_process import (
    MemoryHost,
    alive,
    real_spec,
    turn,
    until_zygote,
    zygotes,
)
from fakes.inspection import holds, looks_inside
from fakes.time_limit import LIMIT, time_limit

from orchestrator.home_paths import find_bundled_path
from orchestrator.processes.child_process import execute_program
from orchestrator.processes.launch import LaunchSpec
from orchestrator.processes.model_broker import ModelBroker
from orchestrator.processes.reaper import wait_for_process_end
from orchestrator.processes.worker import Worker, run_worker
from orchestrator.processes.zygotes import Zygotes
from orchestrator.settings import Settings
from thinker.protocol import methods
from thinker.protocol.prompt_record import PromptPreview

pytestmark = pytest.mark.process
SECRET = "sk-not-for-the-zygote-4711"


def parent(pid: int) -> int:
    """Return a process's parent."""
    return int(Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[1])


async def answers(worker: Worker) -> bool:
    """Return whether a worker runs a turn."""
    result = await worker.run_turn(turn(), MemoryHost(), 0.0)
    return result.text.startswith("You said: hello")


@looks_inside
async def test_forked_worker_is_like_an_executed_one(tmp_path: Path) -> None:
    """Own session, working directory, title and environment; no descriptor of the zygote's."""
    spec = real_spec(tmp_path, temperature=1)
    with time_limit():
        async with zygotes() as keeper, run_worker(spec, keeper.spawn_worker) as worker:
            zygote = await until_zygote(keeper)
            assert parent(worker.pid) == zygote.pid
            assert os.getsid(worker.pid) == worker.pid
            folder = Path(f"/proc/{worker.pid}")
            assert (folder / "cwd").readlink() == tmp_path
            assert (folder / "cmdline").read_text("utf-8").rstrip("\0") == "thinker: work"
            assert (folder / "comm").read_text("utf-8") == "thinker: work\n"
            links = [str(fd.readlink()) for fd in (folder / "fd").iterdir()]
            # Its wire, and the pair with which an event loop wakes itself.
            assert len([link for link in links if link.startswith("socket:")]) == 3
            assert (folder / "fd/0").readlink() == Path(os.devnull)
            assert await answers(worker)
    assert (worker.code, alive(worker.pid), alive(zygote.pid)) == (0, False, False)


@looks_inside
async def test_broker_is_forked_and_jailed_like_an_executed_one(tmp_path: Path) -> None:
    """With its own variables, of which the zygote sees none, and with its own limit of files."""
    environ = {"HTTPS_PROXY": f"http://{SECRET}@127.0.0.1:1", "SSL_CERT_DIR": "/etc/ssl/certs"}
    parents, folders, limits, levels = [], [], [], []
    with time_limit():
        async with zygotes() as keeper:
            zygote = await until_zygote(keeper)
            for spawn in (execute_program, keeper.spawn_worker):
                broker = ModelBroker(Settings(home=tmp_path), environ, spawn=spawn)
                async with broker.start() as child:
                    parents.append(parent(child.pid))
                    assert os.getsid(child.pid) == child.pid
                    assert holds(child.pid, SECRET)
                    folders.append((Path(f"/proc/{child.pid}") / "cwd").readlink())
                    limits.append(resource.prlimit(child.pid, resource.RLIMIT_NOFILE))
                    levels.append(child.sandbox)
            assert parents == [os.getpid(), zygote.pid]
            assert not holds(zygote.pid, SECRET)
    assert (folders[0], limits[0], levels[0]) == (folders[1], limits[1], levels[1])
    assert (child.code, alive(child.pid)) == (0, False)


@looks_inside
async def test_nothing_of_an_agent_is_ever_in_the_zygote(tmp_path: Path) -> None:
    """Not in its environment and not in its memory, from which the next worker is made."""
    spec = real_spec(tmp_path, env={"NOTE": SECRET})
    with time_limit():
        async with zygotes() as keeper, run_worker(spec, keeper.spawn_worker) as worker:
            zygote = await until_zygote(keeper)
            assert parent(worker.pid) == zygote.pid
            assert holds(worker.pid, SECRET)
            assert not holds(zygote.pid, SECRET)
            async with run_worker(real_spec(tmp_path, "other"), keeper.spawn_worker) as other:
                assert parent(other.pid) == zygote.pid
                assert not holds(other.pid, SECRET)


async def test_environment_of_the_zygote_is_replaced_whole(tmp_path: Path) -> None:
    """It knows the default prompt; a worker without it in its settings does not."""
    spec = real_spec(tmp_path)
    other = spec.settings.model_copy(update={"default_system_prompt_path": None})
    texts = []
    with time_limit():
        async with zygotes() as keeper:
            for some in (spec, replace(spec, settings=other)):
                async with run_worker(some, keeper.spawn_worker) as worker:
                    assert parent(worker.pid) == (await until_zygote(keeper)).pid
                    prompt = await worker.peer.call(
                        methods.PROMPT_PREVIEW, turn(), PromptPreview, timeout=LIMIT
                    )
                    texts.append(prompt.record.layers[0].text)
    told, untold = texts
    assert (
        told
        == (find_bundled_path("prompts") / "default-system-prompt.md").read_text("utf-8").rstrip()
    )
    assert untold not in {told, ""}


@pytest.mark.parametrize("name", ["PYTHONHASHSEED", "LD_PRELOAD", "LC_ALL", "SSL_CERT_FILE"])
async def test_environment_that_only_a_start_reads_is_executed(tmp_path: Path, name: str) -> None:
    """A forked worker would not read these variables."""
    spec = real_spec(tmp_path)
    odd = replace(spec, variables={**spec.variables, name: "0"})
    with time_limit():
        async with zygotes() as keeper, run_worker(odd, keeper.spawn_worker) as worker:
            assert parent(worker.pid) == os.getpid()


async def test_workers_of_a_killed_zygote_end_and_another_one_serves(tmp_path: Path) -> None:
    """No process could reap them; their turns continue in workers of the next zygote."""
    spec = real_spec(tmp_path)
    with time_limit():
        async with zygotes() as keeper:
            first = await until_zygote(keeper)
            async with run_worker(spec, keeper.spawn_worker) as worker:
                os.kill(first.pid, signal.SIGKILL)
                await worker.exited.wait()
                assert (worker.code, worker.is_usable) == (-signal.SIGKILL, False)
            second = await until_zygote(keeper, first.pid)
            async with run_worker(spec, keeper.spawn_worker) as worker:
                assert parent(worker.pid) == second.pid
                assert await answers(worker)


async def test_frozen_zygote_is_passed_over_and_ends_with_its_last_worker(tmp_path: Path) -> None:
    """SIGSTOP: the next worker is executed, existing ones continue, and a new zygote starts."""
    spec = real_spec(tmp_path)
    with time_limit():
        async with zygotes() as keeper:
            frozen = await until_zygote(keeper)
            async with run_worker(spec, keeper.spawn_worker) as old:
                os.kill(frozen.pid, signal.SIGSTOP)
                async with run_worker(spec, keeper.spawn_worker) as worker:
                    assert parent(worker.pid) == os.getpid()
                    assert await answers(worker)
                fresh = await until_zygote(keeper, frozen.pid)
                assert await answers(old)
                assert not frozen.exited.is_set()
            await frozen.exited.wait()
            async with run_worker(spec, keeper.spawn_worker) as worker:
                assert parent(worker.pid) == fresh.pid
        assert old.code == -signal.SIGKILL


async def test_frozen_zygote_is_found_though_nobody_wants_a_worker(tmp_path: Path) -> None:
    """It is pinged regularly."""
    with time_limit():
        async with zygotes(ping=0.1) as keeper:
            frozen = await until_zygote(keeper)
            os.kill(frozen.pid, signal.SIGSTOP)
            fresh = await until_zygote(keeper, frozen.pid)
            await frozen.exited.wait()
            async with run_worker(real_spec(tmp_path), keeper.spawn_worker) as worker:
                assert parent(worker.pid) == fresh.pid


async def test_grown_zygote_is_replaced_and_waits_for_its_workers(tmp_path: Path) -> None:
    """A leak does not spread to new workers; running ones are not disturbed."""
    with time_limit():
        async with zygotes(growth=-1, ping=0.1) as keeper:
            first = await until_zygote(keeper)
            async with run_worker(real_spec(tmp_path), keeper.spawn_worker) as worker:
                old = parent(worker.pid)
                await until_zygote(keeper, old)
                assert await answers(worker)
                assert alive(old)
            await wait_for_process_end(old)
            await first.exited.wait()
            assert worker.code == 0


async def test_new_code_is_run_by_new_workers(tmp_path: Path) -> None:
    """After an upgrade, the next worker comes from another zygote."""
    code = tmp_path / "code"
    code.mkdir()
    (code / ".#old.py").symlink_to("me@here.4711:1")  # as an editor marks what it has open
    spec = real_spec(tmp_path)
    with time_limit():
        async with zygotes(code=code) as keeper:
            first = await until_zygote(keeper)
            (code / "new.py").write_text("", "utf-8")
            keeper._code.scanned_at = 0.0
            async with run_worker(spec, keeper.spawn_worker):
                pass
            await until_zygote(keeper, first.pid)
            await first.exited.wait()
            async with run_worker(spec, keeper.spawn_worker) as worker:
                assert parent(worker.pid) != first.pid


async def test_worker_is_executed_when_no_zygote_can_be_started(tmp_path: Path) -> None:
    """It is tried again later; meanwhile workers are executed."""
    spec: LaunchSpec = real_spec(tmp_path)
    keeper = Zygotes(Settings(home=tmp_path / "missing"), {})
    with time_limit():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(keeper.run)
            async with run_worker(spec, keeper.spawn_worker) as worker:
                assert parent(worker.pid) == os.getpid()
                assert await answers(worker)
            tasks.cancel_scope.cancel()


async def test_late_fork_of_a_frozen_zygote_ends_by_itself(tmp_path: Path) -> None:
    """Its supervisor no longer waits, and an executed worker serves the agent."""
    spec = real_spec(tmp_path)
    with time_limit():
        async with zygotes() as keeper:
            frozen = await until_zygote(keeper)
            async with run_worker(spec, keeper.spawn_worker) as old:
                os.kill(frozen.pid, signal.SIGSTOP)
                async with run_worker(spec, keeper.spawn_worker) as worker:
                    os.kill(frozen.pid, signal.SIGCONT)
                    assert await answers(worker)
                    assert await answers(old)
            await frozen.exited.wait()
