"""A chat that agents hand to each other, in a real daemon, through kill -9 at every boundary."""

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.api_client import ScriptedModel, endpoints_of
from fakes.bot_api import FakeBotApi
from fakes.calling_model import CallingModel
from fakes.daemon import TOKEN, RunningDaemon, dying, running_daemon
from fakes.held_model import agent, system
from fakes.journal import reading_in
from fakes.model_api import Reply
from pydantic import JsonValue

from orchestrator.journal.inspect import invariants
from orchestrator.journal.turns import handoffs
from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="agents")]
CHAT = 123
HANDED = "result: This chat was handed over by the agent '{}'. You are '{}' and answer it"
PLACES = (
    "plan:after#1",
    "begin:before#1",
    "begin:after#1",
    "reply:before#1",
    "reply:after#1",
)
KILLS = [f"{who}@{place}" for who in ("supervisor", "worker") for place in PLACES]


def home(folder: Path, model: CallingModel, **entry: JsonValue) -> JsonObject:
    """``work`` answers every chat and may hand over to ``home``, which may hand back."""
    (folder / "prompts").mkdir()
    for name, tools in (("front", [{"name": "home", **entry}]), ("back", ["work"])):
        body = {
            "toolDescription": f"The {name}.",
            "model": "inherit",
            "prompt": f"You are the {name}.",
            "includeChat": True,
            "includePastTools": True,
            "tools": ["get_time", *tools],
        }
        (folder / "prompts" / f"{name}.json").write_text(json.dumps(body), "utf-8")
    fields = {"systemPrompt": ""}
    return {
        "agents": [
            agent("work", model, prompt="front", **fields),
            agent("home", model, prompt="back", **fields),
        ],
        "bindings": [{"channel": "telegram", "chatId": "*", "agentId": "work"}],
        "channels": {"telegram": {"access": "open"}},
    }


async def settled(daemon: RunningDaemon, answering: dict[str, str]) -> None:
    """No turn is open, the chats are answered by these agents, the journal keeps its promises."""
    await daemon.until(lambda report: report.open_turns == 0)
    with reading_in(daemon.home) as db:
        assert invariants.check_invariants(db) == []
        found = handoffs.list_handoffs(db)
    assert {handoff.routed_id: handoff.agent_id for handoff in found} == answering


async def test_chat_goes_on_with_the_other_agent_and_its_history(tmp_path: Path) -> None:
    """The same turn is answered by the new agent, as is the next message; /new undoes it."""
    async with (
        FakeBotApi(TOKEN) as bot,
        CallingModel() as model,
        running_daemon(tmp_path, home(tmp_path, model), bot) as daemon,
    ):
        bot.send_user_message(CHAT, "hello")
        assert await bot.reply_in(CHAT) == "work-model: hello"
        bot.send_user_message(CHAT, "!home {}")
        assert (await bot.reply_in(CHAT)).startswith(HANDED.format("work", "home"))
        asked = model.requests_about("!home {}")[-1]
        assert asked.body["model"] == "home-model"
        assert system(asked).startswith("You are the back.\n\n")
        assert [m["content"] for m in asked.body["messages"][1:3]] == ["hello", "work-model: hello"]
        bot.send_user_message(CHAT, "and now?")
        assert await bot.reply_in(CHAT) == "home-model: and now?"
        assert "hello" in [
            m.get("content") for m in (await model.asked("and now?")).body["messages"]
        ]
        bot.send_user_message(CHAT, "/new")
        await bot.reply_in(CHAT)
        bot.send_user_message(CHAT, "who?")
        assert await bot.reply_in(CHAT) == "work-model: who?"
        await settled(daemon, {})


async def test_chat_is_handed_back_and_loops_end(tmp_path: Path) -> None:
    """Each may hand over again; two agents that do nothing else are stopped in their turn."""
    async with (
        FakeBotApi(TOKEN) as bot,
        CallingModel() as model,
        running_daemon(tmp_path, home(tmp_path, model), bot) as daemon,
    ):
        bot.send_user_message(CHAT, "!home {}")
        await bot.reply_in(CHAT)
        bot.send_user_message(CHAT, "!work {}")
        assert (await bot.reply_in(CHAT)).startswith(HANDED.format("home", "work"))
        bot.send_user_message(CHAT, "back?")
        assert await bot.reply_in(CHAT) == "work-model: back?"
        await settled(daemon, {})


@pytest.mark.parametrize("kill", KILLS)
async def test_killed_handoff_happens_once(tmp_path: Path, kill: str) -> None:
    """Whatever dies, the chat has one reply to the message, of the agent that has it now."""
    died = dying(kill, tmp_path)
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        async with running_daemon(tmp_path, home(tmp_path, model), bot, died) as daemon:
            bot.send_user_message(CHAT, "!home {}")
            if kill.startswith("supervisor"):
                await daemon.died()
            else:
                await bot.reply_in(CHAT)
                await settled(daemon, {"work": "home"})
        async with running_daemon(tmp_path, None, bot) as daemon:
            if kill.startswith("supervisor"):
                reply = await bot.reply_in(CHAT)
                assert reply.startswith(HANDED.format("work", "home"))
            bot.send_user_message(CHAT, "and now?")
            assert await bot.reply_in(CHAT) == "home-model: and now?"
            await settled(daemon, {"work": "home"})
        with reading_in(tmp_path) as db:
            calls = db.execute("SELECT state FROM step WHERE name = 'home'").fetchall()
        assert calls == [("done",)]


async def test_agent_that_takes_over_is_told_what_to_do(tmp_path: Path) -> None:
    """The property that the entry names is a message to it, in the turn and in the history."""
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        config = home(tmp_path, model, initUserMessageProperty="query")
        async with running_daemon(tmp_path, config, bot) as daemon:
            bot.send_user_message(CHAT, '!home {"query": "count the whales"}')
            assert await bot.reply_in(CHAT) == "home-model: count the whales"
            bot.send_user_message(CHAT, "and now?")
            asked = await model.asked("and now?")
            said = [m["content"] for m in asked.body["messages"] if m["role"] == "user"]
            assert said[1:] == ["count the whales", "and now?"]
            await settled(daemon, {"work": "home"})


async def test_chat_of_an_agent_that_is_gone_goes_back_with_its_history(tmp_path: Path) -> None:
    """The one that it is routed to answers, and knows what was said meanwhile."""
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        config = home(tmp_path, model)
        async with running_daemon(tmp_path, config, bot) as daemon:
            bot.send_user_message(CHAT, "!home {}")
            await bot.reply_in(CHAT)
            bot.send_user_message(CHAT, "to home")
            assert await bot.reply_in(CHAT) == "home-model: to home"
            await settled(daemon, {"work": "home"})
        agents = config["agents"]
        assert isinstance(agents, list)
        async with running_daemon(tmp_path, {**config, "agents": agents[:1]}, bot) as daemon:
            bot.send_user_message(CHAT, "and now?")
            assert await bot.reply_in(CHAT) == "work-model: and now?"
            asked = (await model.asked("and now?")).body["messages"]
            assert "home-model: to home" in [m.get("content") for m in asked]
            await settled(daemon, {})


async def test_two_agents_that_only_hand_over_are_stopped_in_their_turn(tmp_path: Path) -> None:
    """The fifth time is refused, and the agent that has the chat then has to answer."""

    def script(body: dict[str, Any]) -> Reply | None:
        last = str(body["messages"][-1]["content"])
        other = "work" if body["model"] == "home-model" else "home"
        return Reply(last) if "changed hands" in last else Reply(tool_calls=((other, {}),))

    async with (
        FakeBotApi(TOKEN) as bot,
        ScriptedModel(script) as model,
        running_daemon(tmp_path, home(tmp_path, model), bot) as daemon,
    ):
        bot.send_user_message(CHAT, "hello")
        told = await bot.reply_in(CHAT)
        assert "this chat has changed hands 4 times by now; answer it yourself" in told
        assert len(model.requests) == 6
        await settled(daemon, {})


async def test_request_of_a_program_is_not_handed_over(tmp_path: Path) -> None:
    """There is no chat: the agent that was asked is told to do it itself, and answers."""
    async with CallingModel() as model:
        config = home(tmp_path, model)
        config["channels"] = {}
        async with endpoints_of(tmp_path, config) as api:
            done = await api.client.chat.completions.create(
                model="work", messages=api.say("!home {}")
            )
            told = str(done.choices[0].message.content)
            assert "there is no chat to hand over here; do the work yourself" in told
            assert {request.body["model"] for request in model.requests} == {"work-model"}
            await settled(api.daemon, {})
