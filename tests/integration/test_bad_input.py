"""Whatever comes in from outside: a clear answer each time, nothing lost, nothing down."""

from pathlib import Path

import pytest
from fakes.bot_api import LOST_ANSWER, FakeBotApi, too_many
from fakes.daemon import TOKEN, journal_bytes, running_daemon
from fakes.held_model import HeldModel, agent, held_daemon, two_agents
from fakes.model_api import Reply

from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="chats")]

HUGE = 20_000_000  # characters
NOW = {"retry-after": "0"}  # keeps the tests short; the wait itself is tested in tests/thinker
UNWELCOME: tuple[object, ...] = (
    None,
    [],
    "hello",
    {"message": None},
    {"message": {"chat": {"id": "no number", "type": "private"}, "message_id": 1}},
    {"message": {"chat": {"id": 123, "type": "private"}, "message_id": 10**30, "text": "x"}},
    {"message": {"text": "x"}},
    {"poll_answer": {"option_ids": [1]}},
    {"my_chat_member": {"chat": {"id": 123}}},
)


async def test_updates_of_every_form_are_confirmed_and_the_next_message_is_answered(
    tmp_path: Path,
) -> None:
    """What cannot be read is skipped, once; a giant is told so; a sticker is told to the model."""
    async with held_daemon(tmp_path) as (bot, _, daemon):
        for update in UNWELCOME:
            bot.queue_update(update if isinstance(update, dict) else {"message": update})
        bot.send_user_message(123, None)
        bot.send_user_message(123, None, sticker={"file_id": "s"})
        bot.send_user_message(123, "x" * HUGE)
        bot.send_user_message(123, " \n ")
        bot.send_user_message(123, "half a surrogate: \ud83d, NUL: \0, end")
        bot.send_user_message(123, "and now?")
        said = [await bot.reply_in(123) for _ in "12"]
        assert [text for text in said if "too long" in text]
        assert [text for text in said if text.startswith("work-model: [sticker")]
        assert (await bot.reply_in(123)).startswith("work-model: half a surrogate")
        assert await bot.reply_in(123) == "work-model: and now?"
        await bot.confirmed()
        report = await daemon.until(lambda report: report.open_turns == 0)
    assert (report.inbox["done"], report.inbox["cancelled"]) == (3, len(UNWELCOME) + 3)
    assert len(journal_bytes(tmp_path)) < HUGE


async def test_same_update_delivered_twice_is_answered_once(tmp_path: Path) -> None:
    """Telegram repeats what it is not sure about; the inbox knows it."""
    async with held_daemon(tmp_path) as (bot, model, daemon):
        number = bot.send_user_message(123, "once")
        assert await bot.reply_in(123) == "work-model: once"
        bot.deliver_again(number)
        bot.send_user_message(123, "twice?")
        assert await bot.reply_in(123) == "work-model: twice?"
        await daemon.until(lambda report: report.open_turns == 0)
        assert bot.list_texts(123) == ["work-model: once", "work-model: twice?"]
        assert len(model.requests_about("once")) == 1


STUMBLES = {
    "500": Reply("overloaded", status=500, headers=NOW),
    "429": Reply("slow down", status=429, headers=NOW),
    "cut": Reply("cut off in the middle of it all", fault="cut"),
    "error in the stream": Reply("an answer that ends in an error", fault="error_event"),
    "nothing": Reply(""),
    "half of the arguments": Reply(tool_calls=(("store_fact", '{"fact": "tea", "cat'),)),
    "an unknown tool": Reply(tool_calls=(("format_disk", {"now": True}),)),
    "arguments in a list": Reply(tool_calls=(("get_time", "[1, 2]"),)),
}


async def test_model_that_stumbles_is_asked_again(tmp_path: Path) -> None:
    """One bad answer costs a moment, not the reply."""
    async with held_daemon(tmp_path) as (bot, model, daemon):
        for text, reply in STUMBLES.items():
            model.script.append(reply)
            bot.send_user_message(123, text)
            assert await bot.reply_in(123) == f"work-model: {text}"
        await daemon.until(lambda report: report.open_turns == 0)
        assert bot.list_texts(123) == [f"work-model: {text}" for text in STUMBLES]


async def test_model_that_fails_for_good_is_an_answer_and_the_next_message_works(
    tmp_path: Path,
) -> None:
    """A long rate limit and an outage are each told to the chat."""
    failures = {
        "limited": ([Reply("wait", status=429, headers={"retry-after": "3600"})], "in 60 minutes"),
        "outage": ([Reply("down", status=503, headers=NOW)] * 4, "The model is overloaded"),
    }
    async with held_daemon(tmp_path) as (bot, model, daemon):
        for text, (replies, told) in failures.items():
            model.script.extend(replies)
            bot.send_user_message(123, text)
            assert told in await bot.reply_in(123)
        bot.send_user_message(123, "better?")
        assert await bot.reply_in(123) == "work-model: better?"
        report = await daemon.until(lambda report: report.open_turns == 0)
    assert [turn.stop_reason for turn in report.recent_turns] == ["done", *["model_error"] * 2]


async def test_refused_key_holds_turn_and_messages_until_the_file_is_read_again(
    tmp_path: Path,
) -> None:
    """F40: one notice without what the provider said, no loop; a changed file tries again."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model)
        async with running_daemon(tmp_path, config, bot) as daemon:
            model.script.append(Reply("bad key sk-hidden", status=401))
            bot.send_user_message(123, "one")
            told = await bot.reply_in(123)
            bot.send_user_message(123, "two")
            bot.send_user_message(456, "other agent")
            assert await bot.reply_in(456) == "home-model: other agent"
            await daemon.until(lambda report: report.inbox["new"] == 1)
            daemon.write(config | {"fallbackAgentId": "home"})
            assert [await bot.reply_in(123) for _ in "12"] == ["work-model: one", "work-model: two"]
    assert told.startswith(
        "I am paused: openai refused the key; correct OPENAI_API_KEY in keys.env."
    )
    assert "sk-hidden" not in told
    assert len(bot.list_texts(123)) == 3


async def test_agent_without_its_key_says_so_and_the_other_one_answers(tmp_path: Path) -> None:
    """Exit 78 of a worker is not tried again; the chat is told what to set."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model)
        keyless: JsonObject = {"agentId": "work", "llmProvider": "groq", "model": "m"}
        config["agents"] = [keyless, agent("home", model)]
        async with running_daemon(tmp_path, config, bot) as daemon:
            bot.send_user_message(123, "hi")
            bot.send_user_message(456, "hi you")
            assert "orchestrator status" in await bot.reply_in(123)
            assert await bot.reply_in(456) == "home-model: hi you"
            report = await daemon.until(lambda report: report.open_turns == 0)
    states = {item.agent_id: (item.state, item.restarts) for item in report.agents}
    assert states == {"work": ("fatal", 0), "home": ("running", 0)}
    assert ["GROQ_API_KEY" in item.message for item in report.config_errors] == [True]
    assert ["GROQ_API_KEY" in item.reason for item in report.agents] == [True, False]


async def test_telegram_that_fails_loses_and_doubles_no_reply(tmp_path: Path) -> None:
    """A rate limit, and an answer that got lost on the way: one message each."""
    async with held_daemon(tmp_path) as (bot, _, daemon):
        bot.break_next("sendMessage", too_many(1))
        bot.break_next("editMessageText", LOST_ANSWER)
        bot.send_user_message(123, "one")
        bot.send_user_message(456, "two")
        assert await bot.reply_in(123) == "work-model: one"
        assert await bot.reply_in(456) == "home-model: two"
        await daemon.until(lambda report: report.open_turns == 0)
        await daemon.logged("send_failed", 2)
    assert bot.list_texts(123) == ["work-model: one"]
    assert bot.list_texts(456) == ["home-model: two"]
