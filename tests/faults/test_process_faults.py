"""Processes that freeze, starve and refuse to end (F5, F6, F11, F17 to F19, F26)."""

import os
import resource
import shlex
import signal
import sys
from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.calling_model import CallingModel, one_agent
from fakes.daemon import TOKEN, RunningDaemon, ending, processes, run_to_its_end, running_daemon
from fakes.held_model import HeldModel, held_daemon, two_agents
from fakes.inspection import looks_inside
from fakes.mcp_config import SERVER, effects, entry

from orchestrator.errors import ExitCode
from thinker.protocol.messages import JsonObject

pytestmark = pytest.mark.process


async def test_frozen_worker_is_replaced_and_its_turn_goes_on_once(tmp_path: Path) -> None:
    """SIGSTOP in the middle of a turn: killed for its silence, resumed in a new process (F5)."""
    async with held_daemon(tmp_path) as (bot, model, daemon):
        gate = model.hold("slow")
        bot.send_user_message(123, "slow")
        await model.asked("slow")
        frozen = await daemon.pid("work")
        os.kill(frozen, signal.SIGSTOP)
        gate.set()
        bot.send_user_message(456, "and you?")
        assert await bot.reply_in(456) == "home-model: and you?"
        assert await bot.reply_in(123) == "work-model: slow"
        assert await daemon.pid("work") != frozen
        assert frozen not in processes(tmp_path)
        await daemon.logged("worker_ended", agent_id="work", kind="hang")
        assert bot.list_texts(123) == ["work-model: slow"]


async def test_frozen_supervisor_keeps_its_home_and_loses_nothing_when_it_is_killed(
    tmp_path: Path,
) -> None:
    """A second daemon is turned away; after SIGKILL the next one has every message (F6)."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        async with running_daemon(tmp_path, two_agents(model), bot) as daemon:
            model.hold("slow")
            bot.send_user_message(123, "slow")
            await model.asked("slow")
            async with ending(processes(tmp_path).keys() - {daemon.process.pid}):
                daemon.signal(signal.SIGSTOP)
                bot.send_user_message(456, "while it is frozen")
                code, _ = await run_to_its_end(tmp_path, bot=bot)
                assert code == ExitCode.ALREADY_RUNNING
                await daemon.kill()
        model.hold("slow").set()
        async with running_daemon(tmp_path, None, bot):
            assert await bot.reply_in(123) == "work-model: slow"
            assert await bot.reply_in(456) == "home-model: while it is frozen"
    assert [len(bot.list_texts(chat)) for chat in (123, 456)] == [1, 1]


async def test_stuck_tool_does_not_hold_up_the_end(tmp_path: Path) -> None:
    """SIGTERM ends the daemon in its drain time; what the tool did is told as unsure (F17)."""
    env = {"ORCHESTRATOR_DRAIN_SECONDS": "0.5"}
    said = "!wild_slow {}"
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        config = one_agent(model, {"wild": entry(tmp_path, "wild")})
        async with running_daemon(tmp_path, config, bot, env) as daemon:
            bot.send_user_message(1, said)
            await daemon.logged("tool_call", tool="wild_slow")
            await until_effect(tmp_path, daemon)
            daemon.signal(signal.SIGTERM)
            assert await daemon.ended() == 0
        async with running_daemon(tmp_path, None, bot):
            assert "couldn't confirm whether this happened" in await bot.reply_in(1)
        assert effects(tmp_path, "wild") == ["slow"]


LEAVING = """
import subprocess, sys
subprocess.Popen(["sleep", "600"], start_new_session=True)
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"), {"__name__": "__main__"})
"""


async def test_stopped_tool_server_ends_with_a_daemon_that_is_killed(tmp_path: Path) -> None:
    """SIGSTOP for the server, its guardian and what it left in a session of its own."""
    config: JsonObject = {
        "agents": [{"agentId": "work", "llmProvider": "demo"}],
        "mcpServers": {
            "wild": {**entry(tmp_path, "wild"), "args": ["-c", LEAVING, str(SERVER)]},
        },
    }
    async with running_daemon(tmp_path, config) as daemon:
        await daemon.until(lambda report: report.tool_servers[0].state == "connected")
        found = processes(tmp_path)
        frozen = [
            pid for pid, argv in found.items() if str(SERVER) in argv or argv == ("sleep", "600")
        ]
        assert len(frozen) == len(["guardian", "server", "sleep"])
        async with ending(found.keys() - {daemon.process.pid}):
            for pid in frozen:
                os.kill(pid, signal.SIGSTOP)
            await daemon.kill()


async def until_effect(home: Path, daemon: RunningDaemon) -> None:
    """Wait until the tool runs."""
    await daemon.until(lambda _: bool(effects(home, "wild")))


async def test_sighup_with_a_bad_file_changes_nothing_and_neither_does_its_loss(
    tmp_path: Path,
) -> None:
    """What runs goes on; the next start takes the last good copy and says so (F18, F19)."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        async with running_daemon(tmp_path, two_agents(model), bot) as daemon:
            daemon.write('{"agents": [')
            daemon.signal(signal.SIGHUP)
            await daemon.until(lambda report: bool(report.config_errors))
            (tmp_path / "agents.json").unlink()
            daemon.signal(signal.SIGHUP)
            await daemon.logged("config_refused", 2)
            bot.send_user_message(123, "still you?")
            assert await bot.reply_in(123) == "work-model: still you?"
        async with running_daemon(tmp_path, None, bot) as daemon:
            bot.send_user_message(123, "and now?")
            assert await bot.reply_in(123) == "work-model: and now?"
            hints = " ".join((await daemon.status()).hints)
            assert "last good copy" in hints


def used(pid: int) -> int:
    """The limit that leaves a process the descriptors that it has and none more."""
    return max(int(fd.name) for fd in Path(f"/proc/{pid}/fd").iterdir()) + 1


@looks_inside
async def test_daemon_without_descriptors_answers_when_it_has_some(tmp_path: Path) -> None:
    """No worker can be started meanwhile; nothing is lost and nothing ends (F26)."""
    async with held_daemon(tmp_path) as (bot, _, daemon):
        await daemon.until(lambda report: report.ready)
        pid = daemon.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (used(pid), before[1]))
        bot.send_user_message(123, "one")
        bot.send_user_message(456, "two")
        await daemon.logged("worker_ended", agent_id="work", kind="crash")
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        assert await bot.reply_in(123) == "work-model: one"
        assert await bot.reply_in(456) == "home-model: two"
        await daemon.until(lambda report: report.ready)


STRAY = "setsid sleep 654321"


def escaping(home: Path) -> JsonObject:
    """An MCP server that leaves a process behind in a session of its own."""
    script = f"({STRAY} &) ; exec {shlex.join([sys.executable, str(SERVER)])}"
    return {**entry(home, "wild"), "command": "sh", "args": ["-c", script]}


def strays(home: Path) -> list[int]:
    """The processes that escaped."""
    return [pid for pid, argv in processes(home).items() if argv[-1:] == ("654321",)]


async def test_what_a_tool_left_behind_in_its_own_session_goes_with_the_tool_host(
    tmp_path: Path,
) -> None:
    """Dead two seconds after the tool host was killed, and when the daemon stops (F11)."""
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        config = one_agent(model, {"wild": escaping(tmp_path)})
        async with running_daemon(tmp_path, config, bot) as daemon:
            bot.send_user_message(1, '!wild_echo {"text": "hi"}')
            assert await bot.reply_in(1) == "result: hi"
            (stray,) = strays(tmp_path)
            (host,) = (
                p
                for p, a in processes(tmp_path).items()
                if "orchestrator.extensions.mcp_client.toolhost" in a
            )
            async with ending([stray]):
                os.kill(host, signal.SIGKILL)
            bot.send_user_message(1, '!wild_echo {"text": "again"}')
            assert await bot.reply_in(1) == "result: again"
            (another,) = strays(tmp_path)
            assert another != stray
            await daemon.until(lambda report: report.open_turns == 0)
