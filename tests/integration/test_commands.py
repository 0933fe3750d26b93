"""Commands of chats through a real daemon: what runs is stopped, who is paused stays so."""

from pathlib import Path

import pytest
from fakes.bot_api import HANG, FakeBotApi
from fakes.daemon import TOKEN, running_daemon
from fakes.held_model import HeldModel, two_agents
from fakes.journal import reading_in
from fakes.model_api import Reply
from fakes.time_limit import time_limit

from orchestrator.control import protocol
from orchestrator.control.protocol import Ack, AgentName, ChatSend
from orchestrator.inbound.commands import build_menus
from thinker.protocol.messages import JsonObject
from thinker.protocol.peer import RpcError

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="chats")]
FACT = {"fact": "Likes tea.", "category": "preference"}
CAPPED = {
    "enabled": True,
    "hardCapTokensPerHour": 10_000,
    "notifyChannel": "telegram",
    "notifyChatId": "456",
}


def operated(model: HeldModel, **work: object) -> JsonObject:
    """Two agents, everybody admitted, the person of chat 456 an operator."""
    config = two_agents(model, **work)
    return config | {"channels": {"telegram": {"access": "open", "allowlist": ["456"]}}}


async def test_messages_do_not_wait_for_the_menu_of_commands(tmp_path: Path) -> None:
    """Telegram may never answer about it; the next start sets it."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        bot.break_next("getMyCommands", HANG)
        async with running_daemon(tmp_path, two_agents(model), bot):
            await bot.called("getMyCommands")
            bot.send_user_message(123, "hello")
            assert await bot.reply_in(123) == "work-model: hello"
            assert bot.menus == {}
        async with running_daemon(tmp_path, None, bot):
            await bot.called("setMyCommands", len(build_menus()))
        assert [*bot.menus] == [*build_menus()]


async def test_stop_ends_the_running_turn_and_the_next_message_is_answered(tmp_path: Path) -> None:
    """At once, though the model never answers; the preview stays a piece."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        async with running_daemon(tmp_path, two_agents(model), bot) as daemon:
            gate = model.hold("first")
            bot.send_user_message(123, "first")
            await model.asked("first")
            bot.send_user_message(123, "/stop")
            assert await bot.reply_in(123) == "Stopped."
            bot.send_user_message(123, "second")
            assert await bot.reply_in(123) == "work-model: second"
            report = await daemon.until(lambda report: report.open_turns == 0)
            gate.set()
        assert report.inbox["cancelled"] == 1
        assert bot.list_texts(123) == ["Stopped.", "work-model: second"]
        said = [message["content"] for message in (await model.asked("second")).body["messages"]]
        assert said[1:] == ["first", "second"]


async def test_stopped_preview_of_a_long_answer_says_so(tmp_path: Path) -> None:
    """The chat has seen as much of it as one message holds."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        async with running_daemon(tmp_path, two_agents(model), bot):
            model.script.append(Reply(f"{'word' * 100} " * 200, fault="drip"))
            bot.send_user_message(123, "tell me")
            await bot.called("sendMessage")
            with time_limit():
                while len(bot.list_texts(123)[0]) < 3_000:
                    await bot.wait_for_change()
            bot.send_user_message(123, "/stop")
            with time_limit():
                while not bot.list_texts(123)[0].endswith("(stopped)"):
                    await bot.wait_for_change()
            assert bot.list_texts(123)[0].startswith("wordword")
        assert {call.status for call in bot.calls("editMessageText")} == {200}


def charged(home: Path) -> list[tuple[object, ...]]:
    """The calls that turns are charged for: the state of the turn, and that of the charge."""
    with reading_in(home) as db:
        return db.execute(
            "SELECT turn.state, model_call.state FROM model_call JOIN turn ON turn.id = turn_id"
            " ORDER BY turn.id, model_call.id"
        ).fetchall()


async def test_interrupted_turn_makes_room_for_the_newer_message(tmp_path: Path) -> None:
    """No message waits for an answer that is not wanted any more; each pays for its own call."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model, whileBusy="interrupt")
        async with running_daemon(tmp_path, config, bot) as daemon:
            gate = model.hold("first")
            bot.send_user_message(123, "first")
            await model.asked("first")
            bot.send_user_message(123, "second")
            assert await bot.reply_in(123) == "work-model: second"
            report = await daemon.until(lambda report: report.open_turns == 0)
            await daemon.until(lambda _: "lost" not in charged(tmp_path)[0])
            gate.set()
        assert (report.inbox["cancelled"], report.inbox["done"]) == (1, 1)
        assert bot.list_texts(123) == ["work-model: second"]
        assert charged(tmp_path) == [("cancelled", "settled"), ("closed", "settled")]


async def test_steered_turn_takes_up_what_was_said_meanwhile(tmp_path: Path) -> None:
    """Both messages get one answer, also when the daemon is killed after the second came in."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model, whileBusy="steer")
        async with running_daemon(tmp_path, config, bot) as daemon:
            first, second = model.hold("first"), model.hold("second")
            model.script.append(Reply(tool_calls=(("store_fact", FACT),)))
            bot.send_user_message(123, "first")
            await model.asked("first")
            bot.send_user_message(123, "second")
            await daemon.until(lambda report: report.inbox["new"] == 1)
            first.set()
            await model.asked("second")
            await daemon.kill()
            second.set()
        async with running_daemon(tmp_path, config, bot) as daemon:
            assert await bot.reply_in(123) == "work-model: second"
            report = await daemon.until(lambda report: report.open_turns == 0)
        assert report.inbox["done"] == 2
        assert bot.list_texts(123) == ["work-model: second"]
        asked = model.requests_about("second")
        roles = ["system", "user", "assistant", "tool", "user"]
        assert [[m["role"] for m in request.body["messages"]] for request in asked] == [roles] * 2


async def test_spent_budget_holds_turn_and_messages_across_kill_until_it_is_raised(
    tmp_path: Path,
) -> None:
    """F64: tripped in the middle of a turn, told once, still tripped after a restart."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        model.script.append(Reply(tool_calls=(("store_fact", FACT),), prompt_tokens=9_000))
        config = operated(model, budget={"tokensPerDay": 10_000})
        async with running_daemon(tmp_path, config, bot) as daemon:
            bot.send_user_message(123, "remember tea")
            told = await bot.reply_in(123)
            assert told.startswith("I am paused: the next call may take ")
            bot.send_user_message(123, "and milk")
            await daemon.until(lambda report: report.inbox["new"] == 1)
            await daemon.kill()
        async with running_daemon(tmp_path, config, bot) as daemon:
            report = await daemon.until(lambda report: report.ready)
            assert [item.paused.rpartition(" of the ")[2] for item in report.agents] == [
                "budget tokensPerDay",
                "",
            ]
            with pytest.raises(RpcError, match="raise it in"):
                await daemon.ask(protocol.AGENT_RESUME, AgentName(agent_id="work"), Ack)
            bot.send_user_message(456, "/status")
            assert "work PAUSED (the next call" in await bot.reply_in(456)
            assert len(model.requests) == 1
            daemon.write(operated(model, budget={"tokensPerDay": 1_000_000}))
            assert await bot.reply_in(123) == "work-model: remember tea"
            assert await bot.reply_in(123) == "work-model: and milk"
            await daemon.until(lambda report: report.open_turns == 0)
        assert bot.list_texts(123) == [told, "work-model: remember tea", "work-model: and milk"]


async def test_anomaly_is_told_where_the_operator_wants_it_and_resumed_from_there(
    tmp_path: Path,
) -> None:
    """The answer that tripped it is delivered; what it used before does not trip it again."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        model.script.append(Reply("dear answer", prompt_tokens=20_000))
        config = operated(model, costControls=CAPPED)
        async with running_daemon(tmp_path, config, bot) as daemon:
            bot.send_user_message(123, "one")
            assert "Agent 'work' is paused" in await bot.reply_in(456)
            assert (await bot.reply_in(123)).startswith("I am paused: Hard cap")
            assert await bot.reply_in(123) == "dear answer"
            bot.send_user_message(123, "two")
            bot.send_user_message(456, "other agents answer")
            assert await bot.reply_in(456) == "home-model: other agents answer"
            bot.send_user_message(456, "/resume work")
            assert await bot.reply_in(456) == "Agent 'work' continues."
            assert await bot.reply_in(123) == "work-model: two"
            await daemon.until(lambda report: report.open_turns == 0)
        assert len(bot.list_texts(123)) == 3


async def test_anomaly_of_a_terminals_chat_is_told_as_soon(tmp_path: Path) -> None:
    """Though the answer that trips it is not sent, and so does not wake what sends."""
    async with (
        FakeBotApi(TOKEN) as bot,
        HeldModel() as model,
        running_daemon(tmp_path, operated(model, costControls=CAPPED), bot) as daemon,
    ):
        bot.send_user_message(456, "hello")
        assert await bot.reply_in(456) == "home-model: hello"
        await daemon.until(lambda report: report.open_turns == 0)
        model.script.append(Reply("dear answer", prompt_tokens=20_000))
        said = ChatSend(chat="t", message="m1", text="one", agent="work")
        await daemon.ask(protocol.CHAT_SEND, said, Ack)
        assert "Agent 'work' is paused" in await bot.reply_in(456)
