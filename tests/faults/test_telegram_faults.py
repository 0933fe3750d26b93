"""Telegram at its worst, between the real daemon and the fake Bot API (F45 to F59)."""

import os
import signal
from pathlib import Path

import pytest
from fakes.bot_api import BLOCKED, FakeBotApi, Fault, too_many
from fakes.daemon import TOKEN, running_daemon
from fakes.fault_proxy import LOST_ANSWER, LOST_REQUEST, RESET, FaultProxy, cut, late
from fakes.held_model import HeldModel, agent, held_daemon, two_agents
from fakes.journal import reading_in
from fakes.model_api import Reply
from fakes.time_limit import LIMIT

from orchestrator.control import protocol
from orchestrator.control.connection import open_control_connection
from orchestrator.control.protocol import Ack, ChatOutcome, ChatSend, ChatWait
from orchestrator.extensions.selftest.crash.fake_telegram import PREVIEW_MARK

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="channels")]

METHODS = ("sendMessage", "editMessageText")
FAULTS = (LOST_REQUEST, LOST_ANSWER, RESET, cut(20), late(0.1))


def finals(bot: FakeBotApi, chat: int) -> list[str]:
    """What stands in a chat but for stray placeholders and previews."""
    return [text for text in bot.list_texts(chat) if not text.endswith(PREVIEW_MARK)]


def unfinished(home: Path) -> list[str]:
    """The states of outbox rows that are not delivered."""
    with reading_in(home) as db:
        rows = db.execute("SELECT state FROM outbox WHERE state <> 'delivered'")
        return [str(state) for (state,) in rows]


async def test_each_fault_on_each_platform_call_leaves_one_final_text(tmp_path: Path) -> None:
    """Lost requests, lost and cut answers and resets of send and edit (F45, F46)."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model, FaultProxy(bot.url) as proxy:
        cases = {600 + i: case for i, case in enumerate((m, f) for m in METHODS for f in FAULTS)}
        for chat, (method, fault) in cases.items():
            if method == "editMessageText":  # which follows a message that failed
                proxy.spoil("sendMessage", f'"chat_id":{chat},', fault=LOST_REQUEST)
            proxy.spoil(method, f'"chat_id":{chat},', fault=fault)
        env = {"TELEGRAM_API_URL": proxy.url}
        async with running_daemon(tmp_path, two_agents(model), bot, env) as daemon:
            for chat in cases:
                bot.send_user_message(chat, f"hello from {chat}")
            await daemon.until(lambda report: report.inbox["done"] == len(cases))
            for chat in cases:
                text = await bot.reply_in(chat)
                assert text == f"home-model: hello from {chat}"
            await proxy.spoilt(len(cases) + len(FAULTS))
            assert {chat: finals(bot, chat) for chat in cases} == {
                chat: [f"home-model: hello from {chat}"] for chat in cases
            }
            await daemon.until(lambda _: unfinished(tmp_path) == [])
            strays = {cases[chat][0] for chat in cases if len(bot.list_texts(chat)) > 1}
            assert strays <= {"sendMessage"}  # at most one, and only where a receipt was lost


async def test_lost_polls_lose_and_double_no_message(tmp_path: Path) -> None:
    """An answer of getUpdates that never arrives was not a confirmation (F46)."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model, FaultProxy(bot.url) as proxy:
        env = {"TELEGRAM_API_URL": proxy.url}
        async with running_daemon(tmp_path, two_agents(model), bot, env) as daemon:
            await daemon.until(lambda report: report.ready)
            proxy.spoil("getUpdates", fault=LOST_ANSWER)
            bot.send_user_message(123, "one")
            assert await bot.reply_in(123) == "work-model: one"
            await proxy.spoilt()
            await bot.confirmed()
            assert finals(bot, 123) == ["work-model: one"]
            assert len(model.requests_about("one")) == 1


async def test_repeated_reordered_and_jumping_updates_are_answered_once_each(
    tmp_path: Path,
) -> None:
    """The same update three times, older ones after newer ones, numbers that begin again."""
    async with held_daemon(tmp_path) as (bot, _, daemon):
        first = bot.send_user_message(123, "first")
        assert await bot.reply_in(123) == "work-model: first"
        second = bot.send_user_message(123, "second")
        assert await bot.reply_in(123) == "work-model: second"
        for number in (second, first, first, second):
            bot.deliver_again(number)
        jumped = {"message_id": 9001, "chat": {"id": 123, "type": "private"}, "text": "jumped"}
        sender = {"id": 123, "is_bot": False, "first_name": "Ada"}
        bot.queue_update(
            {"update_id": 7, "message": {**jumped, "date": 1_800_000_000, "from": sender}}
        )
        assert await bot.reply_in(123) == "work-model: jumped"
        await daemon.until(lambda report: report.open_turns == 0)
        assert bot.list_texts(123) == [
            f"work-model: {text}" for text in ("first", "second", "jumped")
        ]


async def test_rate_limit_in_the_middle_of_a_long_reply_keeps_its_order(tmp_path: Path) -> None:
    """The wait that Telegram asks for holds the rest back; no part is lost or doubled (F50)."""
    words = " ".join(f"w{number:03}" for number in range(700))
    long = "\n\n".join(f"{number} {words} " for number in range(3))
    async with held_daemon(tmp_path) as (bot, model, daemon):
        model.script.append(Reply(long))
        bot.break_next("sendMessage", Fault(), too_many(1))
        bot.send_user_message(123, "at length")
        await daemon.until(lambda report: report.inbox["done"] == 1)
        parts = [await bot.reply_in(123) for _ in range(3)]
        assert [part.split()[0] for part in parts] == ["0", "1", "2"]
        assert [len(part.split()) for part in parts] == [701, 701, 701]
        assert bot.list_texts(123) == parts


async def test_blocked_bot_is_a_permanent_failure_of_that_chat_alone(tmp_path: Path) -> None:
    """403 in the middle of a turn: the row ends, nothing is tried again, others go on (F53)."""
    async with held_daemon(tmp_path) as (bot, model, daemon):
        gate = model.hold("gone")
        bot.send_user_message(123, "gone")
        await model.asked("gone")
        bot.break_next("sendMessage", BLOCKED)
        gate.set()
        await daemon.logged("send_failed", outcome="permanent")
        bot.send_user_message(456, "still here")
        assert await bot.reply_in(456) == "home-model: still here"
        await daemon.until(lambda report: report.open_turns == 0)
        assert bot.list_texts(123) == []
    with reading_in(tmp_path) as db:
        states = db.execute("SELECT chat_id, state, attempt FROM outbox ORDER BY id").fetchall()
        turns = db.execute("SELECT DISTINCT state FROM turn").fetchall()
    assert states == [("123", "failed_permanent", 1), ("456", "delivered", 1)]
    assert turns == [("closed",)]


async def test_revoked_token_degrades_its_channel_and_the_others_go_on(tmp_path: Path) -> None:
    """401: the console answers, readiness says no, the status says what to set (F54)."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        env = {"TELEGRAM_BOT_TOKEN": "123456:revoked-token"}
        async with running_daemon(tmp_path, two_agents(model), bot, env) as daemon:
            report = await daemon.until(
                lambda report: any(channel.state == "degraded" for channel in report.channels)
            )
            assert not report.ready
            degraded = {c.name: c.detail for c in report.channels if c.state == "degraded"}
            assert list(degraded) == ["telegram"]
            assert "TELEGRAM_BOT_TOKEN" in degraded["telegram"]
            said = ChatSend(chat="c", message="m1", text="you at least?", agent="work")
            await daemon.ask(protocol.CHAT_SEND, said, Ack)
            outcome = await daemon.ask(
                protocol.CHAT_WAIT, ChatWait(message="m1", seconds=LIMIT), ChatOutcome
            )
            assert outcome.texts == ("work-model: you at least?",)


async def test_deleted_placeholder_is_replaced_and_an_edit_stays_in_line(tmp_path: Path) -> None:
    """The user edits the message being answered, and deletes what announces the answer (F58).

    An edit after the answer changes nothing.
    """
    async with held_daemon(tmp_path) as (bot, model, daemon):
        answer = "Here is the first half of what I have to say, and here is the rest of it."
        model.script.append(Reply(answer, fault="drip"))
        bot.send_user_message(123, "tell me", message_id=50)
        await bot.called("sendMessage")
        (preview,) = bot._visible[123]
        bot.user_deletes(123, preview)
        bot.user_edits(123, 50, "tell me all", 1_800_000_100)
        await daemon.logged("messages_accepted", 2)
        model.script.append(Reply(answer))
        os.kill(await daemon.pid("work"), signal.SIGKILL)
        assert await bot.reply_in(123) == answer
        corrected = "[this corrects an earlier message, which said]\n\ntell me\n\ntell me all"
        assert await bot.reply_in(123) == f"work-model: {corrected}"
        bot.user_edits(123, 50, "tell me all, once more", 1_800_000_200)
        bot.send_user_message(123, "thanks", message_id=51)
        assert await bot.reply_in(123) == "work-model: thanks"
        answers = [answer, f"work-model: {corrected}", "work-model: thanks"]
        assert bot.list_texts(123) == answers


async def test_burst_in_one_chat_keeps_its_order_and_starves_nobody(tmp_path: Path) -> None:
    """200 messages of one chat are answered in order; 200 chats with one each meanwhile (F57)."""
    async with (
        HeldModel() as model,
        running_daemon(tmp_path, {"agents": [agent("work", model)]}) as daemon,
        open_control_connection(daemon.settings) as peer,
    ):
        names = [f"{kind} {number}" for number in range(200) for kind in ("busy", "c")]
        for name in names:
            chat = "busy" if name.startswith("busy") else name
            said = ChatSend(chat=chat, message=name, text=name, agent="work")
            await peer.request(protocol.CHAT_SEND, said, timeout=LIMIT)
        for name in names:
            wait = ChatWait(message=name, seconds=LIMIT)
            outcome = await peer.call(protocol.CHAT_WAIT, wait, ChatOutcome, timeout=LIMIT)
            assert outcome.texts == (f"work-model: {name}",)
        texts = [str(r.body["messages"][-1]["content"]) for r in model.requests]
        busy = [text for text in texts if text.startswith("busy")]
        assert busy == [f"busy {number}" for number in range(200)]
        assert texts.index("c 199") < texts.index("busy 199")
