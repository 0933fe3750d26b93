"""Telegram pushes to a real daemon: each message is answered once, whatever dies in between."""

from pathlib import Path

import httpx
import pytest
from fakes.api_client import ANY_PORT, address
from fakes.calling_model import CallingModel
from fakes.daemon import TOKEN, RunningDaemon, dying, running_daemon
from fakes.held_model import HeldModel, agent
from fakes.journal import reading_in
from fakes.pushing_bot import NO_ANSWER, SECRET, PushingBotApi
from fakes.time_limit import time_limit

from orchestrator.extensions.telegram.telegram_endpoint import MAX_BODY
from orchestrator.journal.inspect.invariants import check_invariants
from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="channels")]
URL = "https://bots.example.org/telegram"
ADA = 123


def config(model: HeldModel, url: str | None = URL) -> JsonObject:
    """One agent that everybody may write to, by webhook unless ``url`` is None."""
    telegram: JsonObject = {"access": "open"}
    if url is not None:
        telegram["webhook"] = {"url": url}
    return {
        "agents": [agent("work", model)],
        "bindings": [{"channel": "telegram", "chatId": "*", "agentId": "work"}],
        "channels": {"telegram": telegram},
    }


async def lead(bot: PushingBotApi, daemon: RunningDaemon, times: int = 1) -> str:
    """Let the proxy lead to a daemon; return where."""
    bot.leads_to = (await address(daemon, times)).removesuffix("/v1") + "/telegram"
    bot.changes.wake()
    return bot.leads_to


async def test_message_whose_acknowledgement_a_death_takes_is_answered_once(tmp_path: Path) -> None:
    """It is stored, comes again at the next life, and nothing newer overtakes it."""
    async with PushingBotApi(TOKEN) as bot, CallingModel() as model:
        dies = {**ANY_PORT, **dying("supervisor@push:after#1", tmp_path)}
        async with running_daemon(tmp_path, config(model), bot, dies) as daemon:
            await lead(bot, daemon)
            first = bot.send_user_message(ADA, "hello")
            second = bot.send_user_message(ADA, "there")
            await daemon.died()
            await bot.delivered(first, NO_ANSWER)
        assert bot.unconfirmed_updates == [first, second]
        async with running_daemon(tmp_path, None, bot, ANY_PORT) as daemon:
            await lead(bot, daemon)
            await bot.delivered(second, 200)
            assert await bot.reply_in(ADA) == "work-model: hello"
            assert await bot.reply_in(ADA) == "work-model: there"
            await daemon.until(lambda report: report.open_turns == 0)
            (channel,) = [c for c in (await daemon.status()).channels if c.name == "telegram"]
            assert (channel.state, channel.detail) == ("ok", "")
            assert bot.secret not in str(daemon.log)
        assert [item for item in bot.deliveries if item[1] == 200] == [(first, 200), (second, 200)]
        assert bot.list_texts(ADA) == ["work-model: hello", "work-model: there"]
        assert bot.calls("getUpdates") == []
    with reading_in(tmp_path) as db:
        assert check_invariants(db) == []
        assert db.execute("SELECT count(*) FROM inbox").get == 2


async def test_edits_go_to_polls_and_back_and_a_stop_loses_nothing(tmp_path: Path) -> None:
    """Each edit is live; what came while no daemon ran comes afterwards."""
    async with PushingBotApi(TOKEN) as bot, CallingModel() as model:
        async with running_daemon(tmp_path, config(model), bot, ANY_PORT) as daemon:
            await lead(bot, daemon)
            bot.send_user_message(ADA, "pushed")
            assert await bot.reply_in(ADA) == "work-model: pushed"
            bot.leads_to = ""
            bot.send_user_message(ADA, "polled")
            daemon.write(config(model, None))
            assert await bot.reply_in(ADA) == "work-model: polled"
            await daemon.logged("api_closed")
            daemon.write(config(model))
            await lead(bot, daemon, 2)
            bot.send_user_message(ADA, "pushed again")
            assert await bot.reply_in(ADA) == "work-model: pushed again"
        waiting = bot.send_user_message(ADA, "while away")
        await bot.delivered(waiting, NO_ANSWER)
        async with running_daemon(tmp_path, config(model, None), bot, ANY_PORT) as daemon:
            assert await bot.reply_in(ADA) == "work-model: while away"
            await daemon.until(lambda report: report.open_turns == 0)
        assert bot.list_texts(ADA) == [
            f"work-model: {said}" for said in ("pushed", "polled", "pushed again", "while away")
        ]
        assert not any("drop_pending_updates" in call.params for call in bot.ledger)
    with reading_in(tmp_path) as db:
        assert check_invariants(db) == []


async def test_what_others_send_there_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    """Telegram's secret alone opens it, and opens nothing else."""
    async with PushingBotApi(TOKEN) as bot, HeldModel() as model:
        async with running_daemon(tmp_path, config(model), bot, ANY_PORT) as daemon:
            url = await lead(bot, daemon)
            with time_limit():
                while not bot.secret:
                    await bot.wait_for_change()
            right = {SECRET: bot.secret}
            update = b'{"update_id": 1, "message": {"text": 5}}'
            async with httpx.AsyncClient() as client:
                for headers, body, status in (
                    ({}, update, 401),
                    ({SECRET: "wrong"}, update, 401),
                    ({**right, "host": "evil.example"}, update, 403),
                    ({**right, "origin": "https://evil.example"}, update, 403),
                    (right, b"x" * (MAX_BODY + 1), 200),
                    (right, b"{", 200),
                    (right, b"{}", 200),
                    (right, update, 200),
                    (right, update, 200),
                ):
                    answer = await client.post(url, content=body, headers=headers)
                    assert answer.status_code == status
                assert (await client.get(url, headers=right)).status_code == 405
                models = url.replace("/telegram", "/v1/models")
                assert (await client.get(models, headers=right)).status_code == 401
            await daemon.logged("telegram_update_without_number")
            events = [line["event"] for line in daemon.log if line["level"] == "warning"]
            assert events.count("telegram_push_refused") == 1
            assert events.count("telegram_update_unreadable") == 2
            assert events.count("telegram_update_without_number") == 1
            report = await daemon.status()
            (channel,) = [c for c in report.channels if c.name == "telegram"]
            assert (channel.state, channel.detail) == ("ok", "")
        assert model.requests == []
    with reading_in(tmp_path) as db:
        assert db.execute("SELECT count(*) FROM inbox").get == 1


async def test_wrong_address_is_told_by_check_and_at_the_start(tmp_path: Path) -> None:
    """The channel stays off, and the other ones run."""
    wrong = {"TELEGRAM_BOT_TOKEN": TOKEN}  # without a server of one's own
    async with HeldModel() as model:
        settings = config(model, "http://bots.example.org/telegram")
        async with running_daemon(tmp_path, settings, env=wrong) as daemon:
            line = await daemon.logged("config_problem")
            assert "Telegram calls only https; write https://…" in line["problem"]
            report = await daemon.status()
            assert [c.name for c in report.channels if c.name == "telegram"] == []
