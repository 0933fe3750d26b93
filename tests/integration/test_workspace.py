"""Agents use their workspaces through the whole daemon."""

import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.calling_model import CallingModel, one_agent
from fakes.daemon import TOKEN, ending, running_daemon
from fakes.held_model import agent
from fakes.web_pages import web_pages

from orchestrator.control.protocol import StatusReport
from orchestrator.home_paths import Paths, name_scope_folder

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="tools")]


def connected(*names: str) -> Callable[[StatusReport], bool]:
    """Exactly these servers are there, and connected."""

    def holds(report: StatusReport) -> bool:
        states = {item.name: item.state for item in report.tool_servers}
        return states == dict.fromkeys(names, "connected")

    return holds


def workspace_of_chat(home: Path) -> Path:
    """The folder of the agent work in a stranger's Telegram chat 1."""
    return Paths(home).find_chat_workspaces("work") / name_scope_folder("telegram:1")


async def test_strangers_find_no_file_of_another(tmp_path: Path) -> None:
    """Each works in a folder of its own, and the operator's stays as it was."""
    own = tmp_path / "workspaces" / "work" / "own.txt"
    own.parent.mkdir(parents=True)
    own.write_text("the operator's", "utf-8")
    async with (
        FakeBotApi(TOKEN) as bot,
        CallingModel() as model,
        running_daemon(tmp_path, one_agent(model, {}, workspace=True), bot) as daemon,
    ):
        await daemon.until(connected("workspace@work"))
        bot.send_user_message(1, '!write_file {"path": "n.txt", "content": "of 1"}')
        assert "Wrote 4 bytes" in await bot.reply_in(1)
        for name in ("n.txt", "own.txt"):
            bot.send_user_message(2, f'!read_file {{"path": "{name}"}}')
            assert "does not exist" in await bot.reply_in(2)
    assert (workspace_of_chat(tmp_path) / "n.txt").read_text("utf-8") == "of 1"
    assert own.read_text("utf-8") == "the operator's"


async def test_each_agent_has_files_and_commands_of_its_own(tmp_path: Path) -> None:
    """Names are plain, the routing is by agent, and one without a workspace is offered none."""
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        config = one_agent(model, {}, workspace=True)
        config["agents"] = [
            *(agent(name, model, workspace=True) for name in ("work", "home")),
            agent("bare", model),
        ]
        config["bindings"] = [
            {"channel": "telegram", "chatId": str(number), "agentId": name}
            for number, name in enumerate(("work", "home", "bare"), 1)
        ]
        async with running_daemon(tmp_path, config, bot) as daemon:
            await daemon.until(connected("workspace@work", "workspace@home"))
            for chat in (1, 2):
                bot.send_user_message(
                    chat, f'!write_file {{"path": "n.txt", "content": "of {chat}"}}'
                )
                assert "Wrote 4 bytes" in await bot.reply_in(chat)
            bot.send_user_message(1, '!run_command {"command": "cat n.txt; echo $HOME; exit 3"}')
            told = await bot.reply_in(1)
            assert "exit code 3" in told
            assert "of 1" in told
            assert str(tmp_path / "workspaces" / "work") in told
            bot.send_user_message(2, '!read_file {"path": "../work/n.txt"}')
            assert "outside of what you may use" in await bot.reply_in(2)
            bot.send_user_message(3, '!read_file {"path": "n.txt"}')
            assert "there is no tool named" in await bot.reply_in(3)
            offered = model.offered('!read_file {"path": "n.txt"}')
            assert not {"read_file", "run_command"} & set(offered)
        folder = tmp_path / "workspaces" / "work"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert (folder / "n.txt").read_text("utf-8") == "of 1"


async def test_subagent_works_in_its_parents_workspace(tmp_path: Path) -> None:
    """It has the parent's tools, and they lead to the parent's files."""
    async with (
        FakeBotApi(TOKEN) as bot,
        CallingModel() as model,
        running_daemon(tmp_path, one_agent(model, {}, workspace=True), bot) as daemon,
    ):
        await daemon.until(connected("workspace@work"))
        task = '!write_file {\\"path\\": \\"sub.txt\\", \\"content\\": \\"x\\"}'
        bot.send_user_message(1, f'!spawn_subagent {{"task": "{task}"}}')
        assert "Wrote 1 bytes" in await bot.reply_in(1)
        assert (workspace_of_chat(tmp_path) / "sub.txt").exists()


async def test_command_ends_when_its_turn_is_stopped(tmp_path: Path) -> None:
    """With all that it started; the next command runs."""
    async with (
        FakeBotApi(TOKEN) as bot,
        CallingModel() as model,
        running_daemon(tmp_path, one_agent(model, {}, workspace=True), bot) as daemon,
    ):
        await daemon.until(connected("workspace@work"))
        begun = workspace_of_chat(tmp_path) / "pids"
        command = "setsid sleep 631 & echo $$ $! > new; mv new pids; sleep 632"
        bot.send_user_message(1, f'!run_command {{"command": "{command}"}}')
        await daemon.until(lambda _: begun.exists())
        async with ending(map(int, begun.read_text("utf-8").split())):
            bot.send_user_message(1, "/stop")
        await bot.reply_in(1)
        bot.send_user_message(1, '!run_command {"command": "echo again"}')
        assert "again" in await bot.reply_in(1)


async def test_agent_reads_pages_of_the_hosts_that_it_may(tmp_path: Path) -> None:
    """Its server is one of its own, and a redirect into the machine is refused."""
    web = {"allowPrivate": ["localhost"]}
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        with web_pages() as (port, _):
            config = one_agent(model, {}, web=web)
            async with running_daemon(tmp_path, config, bot) as daemon:
                await daemon.until(connected("web@work"))
                bot.send_user_message(1, f'!fetch {{"url": "http://localhost:{port}/article"}}')
                assert "The first paragraph" in await bot.reply_in(1)
                target = f"http://127.0.0.1:{port}/article"
                bot.send_user_message(1, f'!fetch {{"url": "http://localhost:{port}/to?{target}"}}')
                assert "which is not public" in await bot.reply_in(1)
