"""Two bots of one chat system in one daemon: each has its chats, and edits are live."""

import os
from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.daemon import RunningDaemon, running_daemon, write_config
from fakes.slack_world import TOKENS, SlackWorld, slack_world
from fakes.two_bots import TwoBots
from pydantic import JsonValue

from orchestrator.control import protocol
from orchestrator.control.protocol import ReloadReport
from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="channels")]
FIRST, SECOND = "123456:first", "654321:second"
ANN = 7  # the same person, and so the same number, in both bots


def config(accounts: JsonObject, *named: str) -> JsonObject:
    """An agent for the default bot, and one for each of these accounts."""
    bindings: list[JsonValue] = [{"channel": "telegram", "chatId": "*", "agentId": "main"}]
    bindings += [
        {"channel": "telegram", "account": name, "chatId": "*", "agentId": name} for name in named
    ]
    return {
        "agents": [{"agentId": name, "llmProvider": "demo"} for name in ("main", *named)],
        "channels": {"telegram": {"access": "open", "accounts": accounts}},
        "bindings": bindings,
    }


async def listens(daemon: RunningDaemon, name: str, state: str = "ok") -> None:
    """Wait until a channel has a state; one that is off is not shown."""
    shown = [] if state == "off" else [state]
    await daemon.until(
        lambda report: [one.state for one in report.channels if one.name == name] == shown
    )


async def test_two_telegram_bots_answer_their_own_chats(tmp_path: Path) -> None:
    """One person in both: two chats, two agents, two memories."""
    second = FakeBotApi(SECOND, "work_bot")
    env = {"TELEGRAM_BOT_TOKEN_WORK": SECOND}
    document = config({"work": {}}, "work")
    async with TwoBots(FIRST, second) as first:
        async with running_daemon(tmp_path, document, first, env=env) as daemon:
            await listens(daemon, "telegram@work")
            first.send_user_message(ANN, "to the first")
            second.send_user_message(ANN, "to the second")
            assert "to the first" in await first.reply_in(ANN)
            assert "to the second" in await second.reply_in(ANN)
            report = await daemon.until(
                lambda report: [turn.state for turn in report.recent_turns] == ["closed"] * 2
            )
            turns = {(turn.chat, turn.agent_id) for turn in report.recent_turns}
            assert turns == {("telegram:7", "main"), ("telegram@work:7", "work")}
            assert len(first.list_texts(ANN)) == len(second.list_texts(ANN)) == 1
        second.send_user_message(ANN, "after a restart")
        async with running_daemon(tmp_path, document, first, env=env):
            assert "after a restart" in await second.reply_in(ANN)


async def test_account_is_added_and_removed_while_the_daemon_runs(tmp_path: Path) -> None:
    """With its token in keys.env, which may change as well; the other bot goes on."""
    second = FakeBotApi(SECOND, "work_bot")
    async with TwoBots(FIRST, second) as first:
        keys = tmp_path / "keys.env"
        async with running_daemon(tmp_path, config({}), first) as daemon:
            keys.write_text(f"TELEGRAM_BOT_TOKEN_WORK={SECOND}\n")
            keys.chmod(0o600)
            write_config(tmp_path, config({"work": {}}, "work"))
            await daemon.ask(protocol.RELOAD, None, ReloadReport)
            await listens(daemon, "telegram@work")
            second.send_user_message(ANN, "hello")
            assert "hello" in await second.reply_in(ANN)
            write_config(tmp_path, config({}))
            await daemon.ask(protocol.RELOAD, None, ReloadReport)
            await listens(daemon, "telegram@work", "off")
            second.send_user_message(ANN, "into the void")
            first.send_user_message(ANN, "still there?")
            assert "still there?" in await first.reply_in(ANN)
            assert second.unconfirmed_updates
            write_config(tmp_path, config({"work": {}}, "work"))
            await daemon.ask(protocol.RELOAD, None, ReloadReport)
            assert "into the void" in await second.reply_in(ANN)


async def test_token_that_is_put_in_later_needs_no_restart(tmp_path: Path) -> None:
    """As `orchestrator setup` does beside a running daemon."""
    async with FakeBotApi(FIRST) as bot:
        env = {"TELEGRAM_API_URL": bot.url}
        async with running_daemon(tmp_path, config({}), env=env) as daemon:
            keys = tmp_path / "keys.env"
            os.close(os.open(keys, os.O_CREAT | os.O_WRONLY, 0o600))
            keys.write_text(f"TELEGRAM_BOT_TOKEN={FIRST}\n")
            await daemon.ask(protocol.RELOAD, None, ReloadReport)
            bot.send_user_message(ANN, "are you there?")
            assert "are you there?" in await bot.reply_in(ANN)


async def test_two_slack_workspaces_answer_their_own_chats(tmp_path: Path) -> None:
    """Each has a process of its own, with its own tokens."""
    async with slack_world() as own, slack_world() as other:
        document: JsonObject = {
            "agents": [{"agentId": name, "llmProvider": "demo"} for name in ("main", "work")],
            "channels": {
                "slack": {
                    "api": f"{own.server.url}/api/",
                    "access": "open",
                    "accounts": {"work": {"api": f"{other.server.url}/api/"}},
                }
            },
            "bindings": [
                {"channel": "slack", "chatId": "*", "agentId": "main"},
                {"channel": "slack", "account": "work", "chatId": "*", "agentId": "work"},
            ],
        }
        env = {**TOKENS, **{f"{name}_WORK": token for name, token in TOKENS.items()}}
        async with running_daemon(tmp_path, document, env=env) as daemon:
            for world, text in ((own, "to the first"), (other, "to the second")):
                await world.server.connected()
                await world.say(world.private, text)
            report = await daemon.until(
                lambda report: [turn.state for turn in report.recent_turns] == ["closed"] * 2
            )
            hosts = {process.name for process in report.processes}
            assert hosts >= {"channel slack", "channel slack@work"}
            await shows(own, "to the first")
            await shows(other, "to the second")
        assert {turn.chat for turn in report.recent_turns} == {
            f"slack:{own.private}",
            f"slack@work:{other.private}",
        }


async def shows(world: SlackWorld, text: str) -> None:
    """A workspace has this one answer alone."""
    (answer,) = await world.list_shown_texts(world.private)
    assert text in answer
