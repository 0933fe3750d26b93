"""Variables and fixed options of a prompt's tools reach the tool and no one else."""

import json
from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.calling_model import CallingModel, one_agent
from fakes.daemon import TOKEN, running_daemon
from fakes.journal import reading_in
from fakes.mcp_config import entry
from pydantic import JsonValue

from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="prompts")]


async def test_server_is_told_a_secret_that_no_model_and_no_journal_sees(tmp_path: Path) -> None:
    """The chat's value wins over the entry's; the secret comes from the agent's env."""
    (tmp_path / "prompts").mkdir()
    tool: JsonObject = {
        "name": "wild_told",
        "env": {"STORE": "vs_1"},
        "options": {"text": "key ${KEY} store ${STORE}"},
    }
    declared: JsonValue = [{"name": "KEY", "type": "secret", "required": True, "description": "k"}]
    prompt: JsonObject = {"toolDescription": "d", "model": "inherit", "prompt": "You look."}
    file = json.dumps({**prompt, "tools": [tool], "variables": declared})
    (tmp_path / "prompts" / "p.json").write_text(file, "utf-8")
    env: JsonObject = {"KEY": "s3cret"}
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        config = one_agent(
            model, {"wild": entry(tmp_path, "wild")}, prompt="p", systemPrompt="", env=env
        )
        here: JsonObject = {"channel": "telegram", "chatId": "1", "agentId": "work"}
        config["bindings"] = [{**here, "variables": {"STORE": "vs_2"}}, {**here, "chatId": "*"}]
        async with running_daemon(tmp_path, config, bot) as daemon:
            await daemon.until(lambda report: report.tool_servers[0].state == "connected")
            for chat, store in ((1, "vs_2"), (2, "vs_1")):
                bot.send_user_message(chat, "!wild_told")
                told = f'result: key s3cret store {store} {{"STORE": "{store}"}}'
                assert await bot.reply_in(chat) == told
        first = model.requests_about("!wild_told")[0]
        assert "s3cret" not in json.dumps(first.body)
    with reading_in(tmp_path) as db:
        calls = db.execute("SELECT args FROM step WHERE kind = 'tool'").fetchall()
    assert [json.loads(str(args)) for (args,) in calls] == 2 * [tool["options"]]
