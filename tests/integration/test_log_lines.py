"""What an operator reads of a message: three lines, in the log and in the home."""

import json
from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.daemon import TOKEN, running_daemon

from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="operations")]

DEMO: JsonObject = {
    "agents": [{"agentId": "work", "llmProvider": "demo"}],
    "bindings": [{"channel": "telegram", "chatId": "500", "agentId": "work"}],
}
LINES = ["turn_started", "tool_call", "turn_replied"]


async def test_message_has_three_lines(tmp_path: Path) -> None:
    """It came, its tool ran, it was answered; each names agent, chat and turn."""
    env = {"ORCHESTRATOR_LOG_LEVEL": "info"}
    async with FakeBotApi(TOKEN) as bot, running_daemon(tmp_path, DEMO, bot, env) as daemon:
        bot.send_user_message(500, "what time is it?")
        await bot.reply_in(500)
        await daemon.logged("turn_replied")
        seen = daemon.log[[line["event"] for line in daemon.log].index("turn_started") :]
        assert [line["event"] for line in seen] == LINES
        assert {line["agent_id"] for line in seen} == {"work"}
        assert len({line["turn_id"] for line in seen}) == 1
        assert seen[-1].keys() >= {"tokens", "usd", "ms", "tools", "steps", "stop_reason"}
    kept = [json.loads(line) for line in (tmp_path / "daemon.log").read_text().splitlines()]
    assert kept == daemon.log
