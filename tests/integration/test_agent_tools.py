"""Agents as tools of a prompt, in a real daemon: subagents that stay and take more work."""

import json
from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.calling_model import CallingModel
from fakes.daemon import TOKEN, RunningDaemon, dying, running_daemon
from fakes.held_model import agent, system
from fakes.journal import reading_in
from pydantic import JsonValue

from orchestrator.journal.inspect import invariants
from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="agents")]
CHAT = 123
LIVING: JsonObject = {"resumable": {"receives_messages": "side_a", "maxInstances": 1}}
PLACES = ("plan:after#1", "begin:before#1", "begin:after#1", "reply:before#1")
KILLS = [f"{who}@{place}" for who in ("supervisor", "worker") for place in PLACES]


def home(folder: Path, model: CallingModel, entry: JsonObject, **helper: JsonValue) -> JsonObject:
    """``work`` answers every chat and has ``helper`` work for it, as the entry says."""
    (folder / "prompts").mkdir()
    front: JsonObject = {
        "toolDescription": "d",
        "model": "inherit",
        "prompt": "You are the front.",
        "tools": ["get_time", {"name": "helper", **entry}],
    }
    (folder / "prompts" / "front.json").write_text(json.dumps(front), "utf-8")
    return {
        "agents": [
            agent("work", model, prompt="front", systemPrompt="", deniedTools=["list_*"]),
            agent("helper", model, asTool="subagent", **helper),
        ],
        "bindings": [{"channel": "telegram", "chatId": "*", "agentId": "work"}],
        "channels": {"telegram": {"access": "open"}},
    }


def create(message: str, name: str = "Ann") -> str:
    """What a person writes to have a living subagent created."""
    given = {"agent": "helper", "message": message, "attachments": [], "name": name}
    return "!subagent_create " + json.dumps(given)


def more(reference: str, message: str) -> str:
    """What a person writes to have a living subagent do more."""
    given = {"referenceId": reference, "message": message, "attachments": []}
    return "!subagent_message " + json.dumps(given)


async def settled(daemon: RunningDaemon, runs: int) -> None:
    """No turn is open, so much work was begun, the journal keeps its promises."""
    await daemon.until(lambda report: report.open_turns == 0 and len(report.agents) == 2)
    with reading_in(daemon.home) as db:
        assert invariants.check_invariants(db) == []
        assert db.execute("SELECT count(*) FROM subagent_run").get == runs


async def test_agent_works_as_a_tool_with_its_own_prompt(tmp_path: Path) -> None:
    """Its tools are its own without those denied to its caller, and it can have no subagents."""
    async with (
        FakeBotApi(TOKEN) as bot,
        CallingModel() as model,
        running_daemon(tmp_path, home(tmp_path, model, {}, deniedTools=["store_*"]), bot) as daemon,
    ):
        bot.send_user_message(CHAT, '!helper {"task": "count the whales"}')
        assert await bot.reply_in(CHAT) == "result: helper-model: count the whales"
        assert system(await model.asked("count the whales")).startswith("You are helper.\n\n")
        offered = model.offered("count the whales").keys()
        assert "get_time" in offered
        assert not {"spawn_subagent", "store_fact", "list_tasks", "helper"} & offered
        await settled(daemon, 1)


async def test_living_subagent_remembers_and_is_limited(tmp_path: Path) -> None:
    """More work goes to the same session; a second instance is refused until /new."""
    async with (
        FakeBotApi(TOKEN) as bot,
        CallingModel() as model,
        running_daemon(tmp_path, home(tmp_path, model, LIVING), bot) as daemon,
    ):
        bot.send_user_message(CHAT, create("count the whales"))
        answer = await bot.reply_in(CHAT)
        result, _, reference = answer.partition("\n\nReference: ")
        assert result == "result: helper-model: count the whales"
        bot.send_user_message(CHAT, more(reference, "and the dolphins"))
        assert (await bot.reply_in(CHAT)).startswith("result: helper-model: and the dol")
        seen = (await model.asked("and the dolphins")).body["messages"]
        assert [m["content"] for m in seen[1:]] == [
            "count the whales",
            "helper-model: count the whales",
            "and the dolphins",
        ]
        bot.send_user_message(CHAT, create("again"))
        assert f"use subagent_message with one of: {reference}" in await bot.reply_in(CHAT)
        bot.send_user_message(CHAT, "/new")
        await bot.reply_in(CHAT)
        bot.send_user_message(CHAT, more(reference, "still there?"))
        assert "there are: none" in await bot.reply_in(CHAT)
        await settled(daemon, 2)


async def test_explicit_subagent_says_itself_what_its_parent_hears(tmp_path: Path) -> None:
    """Work that no turn waits for comes as one message, written by notify_parent."""
    explicit: JsonObject = {"receives_messages": "side_a", "parentCommunication": "explicit"}
    entry: JsonObject = {"blocking": False, "resumable": explicit}
    async with (
        FakeBotApi(TOKEN) as bot,
        CallingModel() as model,
        running_daemon(tmp_path, home(tmp_path, model, entry), bot) as daemon,
    ):
        bot.send_user_message(CHAT, create('!notify_parent {"message": "seven whales"}'))
        both = [await bot.reply_in(CHAT), await bot.reply_in(CHAT)]
        assert any("is at work; its result will come" in text for text in both)
        assert any("has returned the following result:\n\nseven whales" in text for text in both)
        await settled(daemon, 1)


@pytest.mark.parametrize("kill", KILLS)
async def test_killed_message_to_a_subagent_is_worked_on_once(tmp_path: Path, kill: str) -> None:
    """Whatever dies, the subagent has done it once and the chat has one answer."""
    died = dying(kill, tmp_path)
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        async with running_daemon(tmp_path, home(tmp_path, model, LIVING), bot) as daemon:
            bot.send_user_message(CHAT, create("count the whales"))
            _, _, reference = (await bot.reply_in(CHAT)).partition("\n\nReference: ")
        async with running_daemon(tmp_path, None, bot, died) as daemon:
            bot.send_user_message(CHAT, more(reference, "and the dolphins"))
            if kill.startswith("supervisor"):
                await daemon.died()
            else:
                await bot.reply_in(CHAT)
                await settled(daemon, 2)
        if kill.startswith("supervisor"):
            async with running_daemon(tmp_path, None, bot) as daemon:
                answer = await bot.reply_in(CHAT)
                assert answer.startswith("result: helper-model: and the dolphins")
                await settled(daemon, 2)
        with reading_in(tmp_path) as db:
            kept = db.execute("SELECT count(*) FROM message WHERE body LIKE '%dolphins%'").get
            calls = db.execute(
                "SELECT count(*) FROM step WHERE name = 'subagent_message' AND state = 'done'"
            ).get
        assert (kept, calls) == (6, 1)
