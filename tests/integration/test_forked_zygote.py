"""The first zygote: a fork of the daemon that knows nothing of it."""

import os
import signal
from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.daemon import TOKEN, RunningDaemon, running_daemon
from fakes.held_model import HeldModel, two_agents
from fakes.inspection import holds, looks_inside

from orchestrator.extensions.selftest.crash.process_tree import list_descendants
from thinker.protocol.messages import JsonObject

pytestmark = pytest.mark.process
SECRETS = {"OPENAI_API_KEY": "sk-the-openai-key", "ORDINARY": "what only the daemon may know"}
FORKING = {"ORCHESTRATOR_SPAWN": "zygote"}


async def find_process(daemon: RunningDaemon, name: str) -> int:
    """Return the id of one of the daemon's processes, waited for."""
    report = await daemon.until(lambda report: name in {one.name for one in report.processes})
    return next(process.pid for process in report.processes if process.name == name)


def read_layout(pid: int) -> bytes:
    """Return what differs between two executed programs: where the kernel has put them."""
    return Path(f"/proc/{pid}/auxv").read_bytes()


def read_arguments(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_text("utf-8").rstrip("\0").split("\0")[1:]


def list_descriptors(pid: int) -> list[str]:
    links = [str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir()]
    return sorted(link.partition(":")[0] for link in links)


@looks_inside
async def test_first_zygote_is_forked_from_the_daemon_and_has_none_of_its_secrets(
    tmp_path: Path,
) -> None:
    """Its memory holds no variable of the daemon's, and it looks like one that was executed."""
    async with (
        FakeBotApi(TOKEN) as bot,
        HeldModel() as model,
        running_daemon(
            tmp_path, two_agents(model), bot, {**SECRETS, **FORKING}, executed=True
        ) as daemon,
    ):
        bot.send_user_message(123, "hello")
        assert await bot.reply_in(123) == "work-model: hello"
        names = ("zygote", "supervisor", "agent work", "broker")
        pids = {name: await find_process(daemon, name) for name in names}
        forked = pids["zygote"]
        assert read_layout(forked) == read_layout(pids["supervisor"])
        telling = {*SECRETS.values(), TOKEN}
        assert {name for name in names if any(holds(pids[name], one) for one in telling)} == {
            "supervisor",
            "broker",
        }
        assert os.getsid(forked) == forked
        assert read_arguments(forked) == ["-P", "-m", "thinker.zygote"]
        found = list_descriptors(forked)
        os.kill(forked, signal.SIGKILL)
        executed = await find_other(daemon, forked)
        assert read_layout(executed) != read_layout(pids["supervisor"])
        assert list_descriptors(executed) == found
        bot.send_user_message(123, "and on")
        assert await bot.reply_in(123) == "work-model: and on"


async def find_other(daemon: RunningDaemon, pid: int) -> int:
    """Return the zygote that replaces the one with this id."""
    while (found := await find_process(daemon, "zygote")) == pid:
        pass
    return found


async def test_daemon_without_a_zygote_forks_none(tmp_path: Path) -> None:
    """Every child of its own is a program that was executed."""
    config: JsonObject = {"agents": [{"agentId": "work", "llmProvider": "demo"}]}
    spawn = {"ORCHESTRATOR_SPAWN": "exec"}
    async with running_daemon(tmp_path, config, env=spawn, executed=True) as daemon:
        supervisor = await find_process(daemon, "supervisor")
        layouts = [read_layout(pid) for pid in (supervisor, *list_descendants(supervisor))]
        assert layouts.count(layouts[0]) == 1
