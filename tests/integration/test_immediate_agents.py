"""Agents that a prompt has begin their work before the first step, in a real daemon."""

import json
from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.calling_model import CallingModel
from fakes.daemon import TOKEN, RunningDaemon, dying, running_daemon
from fakes.held_model import agent, system
from fakes.journal import reading_in

from orchestrator.journal.inspect import invariants
from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="agents")]
CHAT = 123
LIVING: JsonObject = {
    "immediate": {"nameEnv": "WHO", "descriptionEnv": "JOB", "scopedEnv": ["COMPANY", "KEY"]},
    "resumable": {"receives_messages": "side_a"},
}
ENV: JsonObject = {"WHO": "Ann", "JOB": "count the whales", "COMPANY": "Acme", "KEY": "s3cret"}


def home(folder: Path, model: CallingModel, entry: JsonObject) -> JsonObject:
    """``work`` answers every chat and has ``helper`` begin at once, as the entry says."""
    (folder / "prompts").mkdir()
    prompt: JsonObject = {"toolDescription": "d", "model": "inherit", "env": ENV}
    variable: JsonObject = {"name": "COMPANY", "type": "text", "required": True, "description": ""}
    secret = {**variable, "name": "KEY", "type": "secret"}
    front: JsonObject = {
        "prompt": "You are the front.",
        "tools": [{"name": "helper", **entry}],
        "variables": [variable, secret],
    }
    back: JsonObject = {
        "prompt": [
            {"type": "text", "content": "You help "},
            {"type": "env", "property": "COMPANY"},
            {"type": "env", "property": "KEY"},
        ],
        "variables": [variable, {**secret, "type": "text"}],
    }
    for name, fields in (("front", prompt | front), ("back", prompt | back | {"env": {}})):
        (folder / "prompts" / f"{name}.json").write_text(json.dumps(fields), "utf-8")
    return {
        "agents": [
            agent("work", model, prompt="front", systemPrompt="", maxSteps=1),
            agent("helper", model, prompt="back", systemPrompt="", asTool="subagent"),
        ],
        "bindings": [{"channel": "telegram", "chatId": "*", "agentId": "work"}],
        "channels": {"telegram": {"access": "open"}},
    }


async def settled(daemon: RunningDaemon, runs: int) -> None:
    """No turn is open, so much work was begun, the journal keeps its promises."""
    await daemon.until(lambda report: report.open_turns == 0)
    with reading_in(daemon.home) as db:
        assert invariants.check_invariants(db) == []
        assert db.execute("SELECT count(*) FROM subagent_run").get == runs


@pytest.mark.parametrize("kill", ["", "supervisor@reply:after#1", "supervisor@reply:before#1"])
async def test_agent_has_worked_before_the_model_is_asked(tmp_path: Path, kill: str) -> None:
    """It is told the message; its result is no step of the limit; it works once, whatever dies."""
    died = dying(kill, tmp_path)
    answer = "result: helper-model: hello"
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        config = home(tmp_path, model, {"immediate": True})
        async with running_daemon(tmp_path, config, bot, died if kill else {}) as daemon:
            bot.send_user_message(CHAT, "hello")
            if kill:
                await daemon.died()
            else:
                assert await bot.reply_in(CHAT) == answer
                await settled(daemon, 1)
        if kill:
            async with running_daemon(tmp_path, None, bot) as daemon:
                assert await bot.reply_in(CHAT) == answer
                await settled(daemon, 1)


async def test_resumable_one_is_begun_once_with_what_variables_say(tmp_path: Path) -> None:
    """Its name, its work, and what its parent shares; a parent's secret is never in its text."""
    async with (
        FakeBotApi(TOKEN) as bot,
        CallingModel() as model,
        running_daemon(tmp_path, home(tmp_path, model, LIVING), bot) as daemon,
    ):
        bot.send_user_message(CHAT, "hello")
        told = await bot.reply_in(CHAT)
        assert told.startswith("result: helper-model: count the whales\n\nReference: work-sub-")
        assert system(await model.asked("count the whales")).startswith("You help Acme\n\n")
        bot.send_user_message(CHAT, "again")
        assert await bot.reply_in(CHAT) == "work-model: again"
        with reading_in(daemon.home) as db:
            spec = str(db.execute("SELECT spec FROM subagent").get)
        assert json.loads(spec)["name"] == "Ann"
        assert "s3cret" not in spec
        await settled(daemon, 1)


async def test_result_that_comes_as_a_message_begins_nothing_again(tmp_path: Path) -> None:
    """Or the answer to it would begin the next, for ever."""
    async with (
        FakeBotApi(TOKEN) as bot,
        CallingModel() as model,
        running_daemon(
            tmp_path, home(tmp_path, model, {"immediate": True, "blocking": False}), bot
        ) as daemon,
    ):
        bot.send_user_message(CHAT, "hello")
        both = [await bot.reply_in(CHAT), await bot.reply_in(CHAT)]
        assert any("is at work; its result will come" in text for text in both)
        assert any("following result:\n\nhelper-model: hello" in text for text in both)
        await settled(daemon, 1)
