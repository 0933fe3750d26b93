"""The first evening of a running daemon: a model, a bot and a chat, without a restart."""

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.bot_api import FakeBotApi
from fakes.daemon import RunningDaemon, running_daemon
from fakes.openai_api import OpenAIApi

from orchestrator.control.protocol import PAIR_APPROVE, AdmittedChat, PairCode
from orchestrator.extensions.service.service_part import DAEMON_RESTART, Restart
from orchestrator.extensions.setup import setup_requests as names
from orchestrator.extensions.setup.setup_requests import (
    BotOutcome,
    KeyList,
    KeyOutcome,
    ModelOutcome,
    SetupOffers,
    SetupState,
)
from thinker.protocol.messages import JsonObject
from thinker.protocol.peer import RpcError

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="operations")]
TOKEN, KEY = f"123456:{'c' * 35}", "sk-good"
CONFIG: JsonObject = {"agents": [{"agentId": "work", "llmProvider": "demo"}]}


async def set_up_model(daemon: RunningDaemon, **wanted: Any) -> ModelOutcome:
    """Ask the daemon to set up a model."""
    return await daemon.ask(names.SETUP_MODEL, wanted, ModelOutcome)


async def test_home_without_files_is_set_up_while_its_daemon_runs(tmp_path: Path) -> None:
    """A wrong key is not kept; a model and a bot that work are in use at once."""
    async with FakeBotApi(TOKEN) as bot, OpenAIApi() as api:
        api.key = KEY
        api.pages["/v1/models"] = {"data": [{"id": "big"}, {"id": "small"}]}
        async with running_daemon(tmp_path, None, env={"TELEGRAM_API_URL": bot.url}) as daemon:
            before = await daemon.ask(names.SETUP_STATE, None, SetupState)
            assert (before.model and before.model.provider, before.first_message) == ("demo", False)
            offers = await daemon.ask(names.SETUP_OFFERS, None, SetupOffers)
            assert "anthropic" in [one.provider for one in offers.providers]

            server = {"provider": "openai", "baseUrl": f"{api.url}/v1", "model": "small"}
            refused = await set_up_model(daemon, **server, key="sk-wrong")
            assert (refused.works, refused.saved) == (False, False)
            assert "sk-wrong" not in refused.text
            assert not (tmp_path / "agents.json").exists()
            done = await set_up_model(daemon, **server, key=KEY)
            assert (done.works, done.saved, done.models) == (True, True, ("big", "small"))
            assert KEY in (tmp_path / "keys.env").read_text("utf-8")
            assert (tmp_path / "keys.env").stat().st_mode & 0o777 == 0o600

            made = await daemon.ask(names.SETUP_BOT, {"token": TOKEN}, BotOutcome)
            assert (made.works, made.saved, made.bot_name) == (True, True, "test_bot")
            bot.send_user_message(7, "let me in")
            notice = await bot.reply_in(7)
            code = next(word for word in notice.split() if word.isupper() and len(word) >= 8)
            await daemon.ask(PAIR_APPROVE, PairCode(code=code.strip(".,:")), AdmittedChat)
            await daemon.until(
                lambda report: [one.state for one in report.recent_turns] == ["closed"]
            )
            state = await daemon.ask(names.SETUP_STATE, None, SetupState)
            assert (state.model and state.model.works, state.first_message) == (True, True)
            (account,) = state.telegram.accounts
            assert (account.token_set, account.state) == (True, "ok")

            (tmp_path / "agents.json").write_text(
                (tmp_path / "agents.json").read_text("utf-8").replace("small", "big"), "utf-8"
            )
            await daemon.until(lambda report: report.agents[0].model == "big")
            gone = await daemon.ask(names.KEYS_REMOVE, {"name": "TELEGRAM_BOT_TOKEN"}, KeyOutcome)
            assert "removed" in gone.text
            keys = await daemon.ask(names.KEYS_LIST, None, KeyList)
            assert {one.name: one.set for one in keys.keys}["TELEGRAM_BOT_TOKEN"] is False
            assert KEY not in json.dumps(keys.model_dump(mode="json"))


async def test_daemon_that_is_restarted_goes_on_with_its_secrets(tmp_path: Path) -> None:
    """The same process begins anew; keys of its environment, which it had erased, are there."""
    env = {"OPENAI_API_KEY": KEY}
    async with running_daemon(tmp_path, CONFIG, env=env, executed=True) as daemon:
        before = await daemon.status()
        done = await daemon.ask(DAEMON_RESTART, None, Restart)
        assert "starts again" in done.text
        await daemon.logged("ready", 2)
        after = await daemon.status()
        assert after.starts == before.starts + 1
        keys = await daemon.ask(names.KEYS_LIST, None, KeyList)
        assert [(one.set, one.origin) for one in keys.keys if one.name == "OPENAI_API_KEY"] == [
            (True, "environment")
        ]


async def test_daemon_of_another_program_says_that_it_cannot_restart(tmp_path: Path) -> None:
    """It goes on."""
    async with running_daemon(tmp_path, CONFIG) as daemon:
        with pytest.raises(RpcError, match="another program started"):
            await daemon.ask(DAEMON_RESTART, None, Restart)
        assert (await daemon.status()).ready
