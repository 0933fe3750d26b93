"""A person talks to agents over Telegram: the whole path, with real processes."""

from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.daemon import TOKEN, journal_bytes, running_daemon
from fakes.held_model import HeldModel, agent, held_daemon, system, two_agents

from orchestrator.chat_texts import PAIRED, PAIRED_ANSWERS
from orchestrator.control import protocol
from orchestrator.control.protocol import PairCode, PairedChat, PairingList, ReloadReport
from thinker.protocol.messages import JsonObject
from thinker.protocol.peer import RpcError

MENTION = {"type": "mention", "offset": 0, "length": 9}
pytestmark = pytest.mark.process


async def test_each_chat_is_answered_by_its_agent_with_its_own_prompt(tmp_path: Path) -> None:
    """Bindings decide; neither agent sees the other's prompt."""
    async with held_daemon(tmp_path) as (bot, model, daemon):
        bot.send_user_message(123, "one")
        bot.send_user_message(456, "two")
        assert await bot.reply_in(123) == "work-model: one"
        assert await bot.reply_in(456) == "home-model: two"
        assert system(await model.asked("one")).startswith("You are work.\n\n")
        assert system(await model.asked("two")).startswith("You are home.\n\n")
        report = await daemon.until(lambda report: report.open_turns == 0)
    assert report.inbox["done"] == 2
    assert {turn.agent_id: turn.stop_reason for turn in report.recent_turns} == {
        "work": "done",
        "home": "done",
    }


async def test_daemon_is_ready_before_anybody_wrote(tmp_path: Path) -> None:
    """A bot that gets no message is heard all the same: its first poll need not end."""
    async with held_daemon(tmp_path) as (_, _, daemon):
        report = await daemon.until(lambda report: report.ready)
    assert {channel.name: channel.state for channel in report.channels} == {
        "api": "ok",
        "console": "ok",
        "hook": "ok",
        "http": "ok",
        "mcp": "ok",
        "telegram": "ok",
        "web": "ok",
    }
    assert [item.pid for item in report.agents] == [None, None]


async def test_messages_of_a_chat_wait_in_line_and_other_chats_do_not(tmp_path: Path) -> None:
    """The second message is asked about after the first was answered; a third chat meanwhile."""
    async with held_daemon(tmp_path) as (bot, model, _):
        gate = model.hold("first")
        bot.send_user_message(123, "first")
        bot.send_user_message(123, "second")
        await model.asked("first")
        bot.send_user_message(124, "elsewhere")
        bot.send_user_message(125, "and here")
        assert await bot.reply_in(124) == "home-model: elsewhere"
        assert await bot.reply_in(125) == "home-model: and here"
        assert model.requests_about("second") == []
        gate.set()
        assert await bot.reply_in(123) == "work-model: first"
        assert await bot.reply_in(123) == "work-model: second"
        history = [
            (message["role"], message["content"])
            for message in (await model.asked("second")).body["messages"][1:]
        ]
    assert history == [
        ("user", "first"),
        ("assistant", "work-model: first"),
        ("user", "second"),
    ]


async def test_stranger_is_let_in_by_pairing(tmp_path: Path) -> None:
    """A stranger gets a code; once approved, the chat is told and its question answered."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model) | {"channels": {}}  # pairing is the default
        async with running_daemon(tmp_path, config, bot) as daemon:
            bot.send_user_message(999, "anybody home?")
            told = await bot.reply_in(999)
            pairings = await daemon.ask(protocol.PAIR_LIST, None, PairingList)
            (code,) = [item.code for item in pairings.pairings]
            assert code is not None
            assert told.endswith(f"orchestrator pair approve {code}")
            assert model.requests == []
            await daemon.ask(protocol.PAIR_APPROVE, PairCode(code=code), PairedChat)
            assert await bot.reply_in(999) == f"{PAIRED} {PAIRED_ANSWERS}"
            assert await bot.reply_in(999) == "home-model: anybody home?"
            bot.send_user_message(999, "let me in")
            assert await bot.reply_in(999) == "home-model: let me in"
            assert len(bot.list_texts(999)) == 4


async def test_stranger_who_is_refused_leaves_no_words(tmp_path: Path) -> None:
    """Where only the allow-list counts, nothing is held, and no pairing helps."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model) | {"channels": {}}
        async with running_daemon(tmp_path, config, bot) as daemon:
            bot.send_user_message(999, "let me in")
            code = (await bot.reply_in(999)).rpartition(" ")[2]
            daemon.write(config | {"channels": {"telegram": {"access": "allowlist"}}})
            await daemon.ask(protocol.RELOAD, None, ReloadReport)
            with pytest.raises(RpcError, match=r"channels\.telegram\.access"):
                await daemon.ask(protocol.PAIR_APPROVE, PairCode(code=code), PairedChat)
            bot.send_user_message(998, "my secret words")
            await daemon.until(lambda report: report.inbox["cancelled"] == 2)
            assert bot.list_texts(998) == []
    assert model.requests == []
    assert b"my secret words" not in journal_bytes(tmp_path)


async def test_group_is_answered_only_when_the_bot_is_named(tmp_path: Path) -> None:
    """What people say to each other does not concern the bot, and is not kept."""
    async with (
        FakeBotApi(TOKEN, "test_bot") as bot,
        HeldModel() as model,
        running_daemon(tmp_path, two_agents(model), bot) as daemon,
    ):
        bot.send_user_message(-100, "pssst between us")
        mention = {"type": "mention", "offset": 0, "length": 9}
        bot.send_user_message(-100, "@test_bot what time is it?", entities=[mention])
        assert await bot.reply_in(-100) == "home-model: what time is it?"
        report = await daemon.until(lambda report: report.open_turns == 0)
        assert len(bot.list_texts(-100)) == 1
        assert report.inbox == {"new": 0, "claimed": 0, "done": 1, "dead": 0, "cancelled": 1}
    stored = journal_bytes(tmp_path)
    assert b"pssst" not in stored


async def test_bound_group_that_becomes_a_supergroup_stays_the_same_chat(tmp_path: Path) -> None:
    """Its agent and its history stay, also after a restart; status says what to edit."""

    def ask(bot: FakeBotApi, chat: int, text: str) -> None:
        bot.send_user_message(chat, f"@test_bot {text}", entities=[MENTION])

    def bound(chat: str) -> JsonObject:
        places = ((chat, "work"), ("*", "home"))
        return {
            "bindings": [
                {"channel": "telegram", "chatId": chat_id, "agentId": name}
                for chat_id, name in places
            ]
        }

    async with FakeBotApi(TOKEN, "test_bot") as bot, HeldModel() as model:
        config = two_agents(model) | bound("-100")
        async with running_daemon(tmp_path, config, bot) as daemon:
            gate = model.hold("first")
            ask(bot, -100, "first")
            await model.asked("first")
            bot.becomes_supergroup(-100, -1100, "migrate_to_chat_id", "migrate_from_chat_id")
            gate.set()
            assert await bot.reply_in(-1100) == "work-model: first"
            ask(bot, -1100, "second")
            assert await bot.reply_in(-1100) == "work-model: second"
            report = await daemon.until(lambda report: report.open_turns == 0)
            assert ["write -1100" in item.message for item in report.config_errors] == [True]
        config = two_agents(model) | bound("-1100")
        async with running_daemon(tmp_path, config, bot) as daemon:
            ask(bot, -1100, "third")
            assert await bot.reply_in(-1100) == "work-model: third"
            assert (await daemon.status()).config_errors == ()
        history = (await model.asked("third")).body["messages"][1:]
    assert [message["content"] for message in history if message["role"] == "user"] == [
        "first",
        "second",
        "third",
    ]
    assert bot.list_texts(-100) == []


async def test_unbound_chat_is_told_and_starts_nothing(tmp_path: Path) -> None:
    """There is no silent default: without a binding the chat is told, and no process starts."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model)
        config["bindings"] = [{"channel": "telegram", "chatId": "123", "agentId": "work"}]
        config["agents"] = [agent("work", model)]
        async with running_daemon(tmp_path, config, bot) as daemon:
            bot.send_user_message(456, "hello?")
            assert "binding" in await bot.reply_in(456)
            report = await daemon.status()
            assert [item.pid for item in report.agents] == [None]
            assert report.inbox["cancelled"] == 1
    assert model.requests == []
