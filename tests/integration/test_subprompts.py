"""A prompt as a tool of another one, in a real daemon: a turn of its own, durable like any."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from fakes.bot_api import FakeBotApi
from fakes.calling_model import CallingModel, one_agent
from fakes.daemon import TOKEN, RunningDaemon, running_daemon
from fakes.held_model import system
from fakes.journal import reading_in
from pydantic import JsonValue

from orchestrator.journal.inspect import invariants
from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="agents")]
CHAT = 123
TEXT = "whales are large"
SUMMARIZE: dict[str, JsonValue] = {
    "toolDescription": "Sums up a text",
    "model": "inherit",
    "prompt": "You sum up.",
    "requiredSchema": {
        "type": "object",
        "properties": {"document": {"type": "string"}, "words": {"type": "number", "default": 9}},
        "required": ["document"],
    },
}


def home(folder: Path, model: CallingModel, **entry: JsonValue) -> JsonObject:
    """An agent whose prompt has another one among its tools."""
    main: dict[str, JsonValue] = {
        "toolDescription": "d",
        "model": "inherit",
        "prompt": "You are the main one.",
        "tools": ["get_time", {"name": "summarize", **entry}],
    }
    (folder / "prompts").mkdir()
    for name, body in (("main", main), ("summarize", SUMMARIZE)):
        (folder / "prompts" / f"{name}.json").write_text(json.dumps(body), "utf-8")
    return one_agent(model, {}, prompt="main", systemPrompt="")


def call(**arguments: JsonValue) -> str:
    """What a person writes to have the main prompt call the other one."""
    return "!summarize " + json.dumps(arguments)


async def settled(daemon: RunningDaemon) -> None:
    """No turn is open, the sub-prompt's process has gone, and the journal keeps its promises."""
    await daemon.until(lambda report: report.open_turns == 0 and len(report.agents) == 1)
    with reading_in(daemon.home) as db:
        assert invariants.check_invariants(db) == []
        assert db.execute("SELECT count(*) FROM subagent_run").get == 1


async def test_prompt_runs_as_a_tool_with_the_property_as_its_first_message(tmp_path: Path) -> None:
    """It has its own base prompt, sees nothing of the chat, and its text is the tool's result."""
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        config = home(tmp_path, model, initUserMessageProperty="document")
        async with running_daemon(tmp_path, config, bot) as daemon:
            bot.send_user_message(CHAT, call(document=TEXT))
            assert await bot.reply_in(CHAT) == f"result: work-model: {TEXT}"
            asked = await model.asked(TEXT)
            assert system(asked).startswith("You sum up.\n\n")
            assert [message["role"] for message in asked.body["messages"]] == ["system", "user"]
            await settled(daemon)


async def test_killed_sub_prompt_goes_on_and_runs_once(tmp_path: Path) -> None:
    """Its process, then the caller's, die by SIGKILL; there is one run and one reply."""
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        config = home(tmp_path, model, initUserMessageProperty="document")
        async with running_daemon(tmp_path, config, bot) as daemon:
            gate = model.hold(TEXT)
            bot.send_user_message(CHAT, call(document=TEXT))
            await model.asked(TEXT)
            report = await daemon.until(lambda seen: any(agent.parent for agent in seen.agents))
            for agent in report.agents:
                if agent.pid:
                    os.kill(agent.pid, signal.SIGKILL)
            gate.set()
            assert await bot.reply_in(CHAT) == f"result: work-model: {TEXT}"
            await settled(daemon)


async def test_inputs_are_checked_and_defaults_filled_in(tmp_path: Path) -> None:
    """Without a property for it the message is all arguments; wrong ones come back as an error."""
    async with (
        FakeBotApi(TOKEN) as bot,
        CallingModel() as model,
        running_daemon(tmp_path, home(tmp_path, model), bot) as daemon,
    ):
        bot.send_user_message(CHAT, call(words=3))
        assert "'document' is a required property" in await bot.reply_in(CHAT)
        bot.send_user_message(CHAT, call(document=TEXT))
        told = json.dumps({"document": TEXT, "words": 9}, separators=(",", ":"))
        assert await bot.reply_in(CHAT) == f"result: work-model: {told}"
        await settled(daemon)


async def test_prompt_that_inherits_its_model_has_the_agents_own(tmp_path: Path) -> None:
    """Not that of the prompt that calls it."""
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        config: Any = home(tmp_path, model, initUserMessageProperty="document")
        heavy: JsonObject = {"provider": "openai", "model": "heavy", "baseUrl": f"{model.url}/v1"}
        main = tmp_path / "prompts" / "main.json"
        body = json.loads(main.read_text("utf-8")) | {"model": "heavy"}
        main.write_text(json.dumps(body), "utf-8")
        async with running_daemon(tmp_path, {**config, "models": {"heavy": heavy}}, bot) as daemon:
            bot.send_user_message(CHAT, call(document=TEXT))
            assert await bot.reply_in(CHAT) == f"result: work-model: {TEXT}"
            assert (await model.asked(call(document=TEXT))).body["model"] == "heavy"
            await settled(daemon)
