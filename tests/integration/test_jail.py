"""A hostile hook in one agent's worker: what it reaches of the rest."""

import inspect
import json
import os
from pathlib import Path

import pytest
from fakes.agent_process import BOTH_MODES, Clock, MemoryHost, real_spec, supervised, turn

from orchestrator.extensions.doctor import reach
from orchestrator.processes.supervisor import Supervisor
from thinker.jail import landlock
from thinker.protocol.methods import StopReason

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(landlock.read_abi_version() < landlock.ABI_SCOPE, reason="an older kernel"),
]
HOOK = """
import json

def before_create_message(state, message):
    found = try_attempts({pids!r}, {paths!r})
    return message.model_copy(update={{"content": json.dumps(found)}})
"""


def build_hook(pids: dict[str, int], paths: dict[str, str]) -> str:
    """Return a hook with the code of the attempts, which a worker cannot import."""
    return inspect.getsource(reach) + HOOK.format(pids=pids, paths=paths)


async def probed(supervisor: Supervisor, agent_id: str) -> dict[str, bool]:
    async with supervisor.use_worker(agent_id) as worker:
        assert worker.sandbox.level == "full"
        result = await worker.run_turn(turn(), MemoryHost(), 0.0)
    found: dict[str, bool] = dict(json.loads(result.text))
    return found


@BOTH_MODES
async def test_hook_reaches_neither_processes_nor_files_of_others(
    tmp_path: Path, mode: str
) -> None:
    """Its own skills, persona and hooks are all that it can read."""
    for folder in ("agents/other", "agents/work", "hooks", "skills"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("agents.json", "journal.db", "agents/other/instructions.md"):
        (tmp_path / name).write_text("text")
    async with supervised(Clock(), mode) as (supervisor, _):
        supervisor.define_agent(real_spec(tmp_path, "other", system_prompt="Secret."), 30)
        async with supervisor.use_worker("other") as other:
            pids = {"supervisor": os.getpid(), "other": other.pid}
            names = "agents.json journal.db agents/other agent-prompts/other.txt ."
            names += " skills agents/work hooks"
            paths = {name: str(tmp_path / name) for name in names.split()}
            hook = build_hook(pids, paths)
            (tmp_path / "hooks" / "probe.py").write_text(hook)
            spec = real_spec(tmp_path, allow_hooks=True, hooks=["probe"])
            supervisor.define_agent(spec, 30)
            found = await probed(supervisor, "work")
    done = {name for name, success in found.items() if success}
    assert done <= {"skills: list", "agents/work: list", "hooks: list", "TCP"}
    assert {"skills: list", "agents/work: list", "hooks: list"} <= done
    assert {"supervisor: environ", "other: kill", "agents.json: read", "exec"} < found.keys()


async def test_hook_with_a_network_opens_sockets_and_nothing_else(tmp_path: Path) -> None:
    """Its worker is executed, since the prepared one has no sockets."""
    (tmp_path / "hooks").mkdir()
    (tmp_path / "agents.json").write_text("text")
    hook = build_hook({"parent": os.getpid()}, {"file": str(tmp_path / "agents.json")})
    (tmp_path / "hooks" / "probe.py").write_text(hook)
    async with supervised(Clock(), "zygote") as (supervisor, _):
        spec = real_spec(tmp_path, allow_hooks=True, hook_network=True, hooks=["probe"])
        supervisor.define_agent(spec, 30)
        found = await probed(supervisor, "work")
    assert {name for name, success in found.items() if success} == {"TCP"}


@BOTH_MODES
async def test_replaced_folder_moves_the_turn_to_a_new_worker(tmp_path: Path, mode: str) -> None:
    """The old worker may not read what took the folder's place."""
    (tmp_path / "agents" / "work").mkdir(parents=True)
    async with supervised(Clock(), mode) as (supervisor, _):
        supervisor.define_agent(real_spec(tmp_path), 30)
        async with supervisor.use_worker("work") as first:
            assert (await first.run_turn(turn(), MemoryHost(), 0.0)).stop_reason is StopReason.DONE
            (tmp_path / "agents" / "work").rename(tmp_path / "away")
            (tmp_path / "agents" / "work").mkdir()
            result = await first.run_turn(turn("t2"), MemoryHost(), 0.0)
            assert result.stop_reason is StopReason.DRAINED
        async with supervisor.use_worker("work") as second:
            assert second.pid != first.pid
            result = await second.run_turn(turn("t2"), MemoryHost(), 0.0)
            assert result.stop_reason is StopReason.DONE


async def test_sandbox_off_leaves_a_worker_without_a_jail(tmp_path: Path) -> None:
    """It says so; its memory is still closed to others."""
    async with supervised(Clock(), "zygote") as (supervisor, _):
        supervisor.define_agent(real_spec(tmp_path, sandbox="off"), 30)
        async with supervisor.use_worker("work") as worker:
            assert (worker.sandbox.level, "off" in worker.sandbox.reason) == ("off", True)
            assert (await worker.run_turn(turn(), MemoryHost(), 0.0)).text
