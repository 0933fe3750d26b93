"""A bot's token is tried, stored and bound; a bot in use is not replaced by accident."""

import json
from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.set_up_home import SetUpHome
from fakes.two_bots import TwoBots
from pydantic import JsonValue

from orchestrator.control import editing
from orchestrator.control.editing import EditReport, FileText
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.setup.agents_text import AgentsText
from orchestrator.extensions.setup.bot_setup import BotSetup
from orchestrator.extensions.setup.stored_keys import StoredKeys
from thinker.protocol.messages import JsonObject

AGENTS = json.dumps({"agents": [{"agentId": "a", "llmProvider": "demo"}]})
TOKEN, OTHER = f"123456:{'c' * 35}", f"654321:{'d' * 35}"


async def open_setup(world: SetUpHome) -> BotSetup:
    """The bots of a home whose daemon runs."""
    daemon = await world.start()
    text = AgentsText(daemon)
    return BotSetup(daemon, text, StoredKeys(daemon, text))


async def test_bot_that_telegram_knows_is_bound_and_stored(tmp_path: Path) -> None:
    """A second bot has an account, with its own token and binding."""
    async with TwoBots(TOKEN, FakeBotApi(OTHER, "work_bot")) as bots:
        world = SetUpHome(tmp_path, {"TELEGRAM_API_URL": bots.url})
        setup = await open_setup(world)
        done = await setup.set_up_bot("web:ann", {"token": f" {TOKEN} "})
        assert (done.works, done.saved, done.link) == (True, True, "https://t.me/test_bot")
        assert done.text.startswith("@test_bot is connected")
        assert "until it is let in" in done.text
        assert world.environ["TELEGRAM_BOT_TOKEN"] == TOKEN
        again = await setup.set_up_bot("web:ann", {"token": TOKEN, "account": "work"})
        assert (again.works, again.saved) == (False, False)
        assert "already the bot of this home" in again.text
        more = await setup.set_up_bot("web:ann", {"token": OTHER, "account": "work"})
        assert more.saved
        assert world.environ["TELEGRAM_BOT_TOKEN_WORK"] == OTHER
        binding = {"channel": "telegram", "account": "work", "chatId": "*"}
        assert {**binding, "agentId": "assistant"} in json.loads(world.text)["bindings"]
        names = {one.account: one.bot_name for one in setup.list_bots().accounts}
        assert names == {"": "test_bot", "work": "work_bot"}
        assert TOKEN not in world.text


async def test_bot_in_use_is_replaced_only_on_request(tmp_path: Path) -> None:
    """Its chats would go silent."""
    async with TwoBots(TOKEN, FakeBotApi(OTHER, "work_bot")) as bots:
        world = SetUpHome(tmp_path, {"TELEGRAM_API_URL": bots.url})
        setup = await open_setup(world)
        await setup.set_up_bot("web:ann", {"token": TOKEN})
        asked = await setup.set_up_bot("web:ann", {"token": OTHER})
        assert (asked.works, asked.saved, asked.replaces) == (True, False, "@test_bot")
        assert world.environ["TELEGRAM_BOT_TOKEN"] == TOKEN
        done = await setup.set_up_bot("web:ann", {"token": OTHER, "replace": True})
        assert done.saved
        assert world.environ["TELEGRAM_BOT_TOKEN"] == OTHER


async def test_bot_that_is_switched_off_is_switched_on(tmp_path: Path) -> None:
    """Or its token would do nothing."""
    document = {
        "agents": [{"agentId": "a", "llmProvider": "demo"}],
        "channels": {"telegram": {"enabled": False}},
    }
    (tmp_path / "agents.json").write_text(json.dumps(document), "utf-8")
    async with FakeBotApi(TOKEN) as bot:
        world = SetUpHome(tmp_path, {"TELEGRAM_API_URL": bot.url})
        assert (await (await open_setup(world)).set_up_bot("web:ann", {"token": TOKEN})).saved
        assert json.loads(world.text)["channels"]["telegram"]["enabled"] is True


async def test_token_is_stored_before_agents_json_needs_it(tmp_path: Path) -> None:
    """Or the bot would be reported as one without a token."""
    stored: list[str | None] = []

    async def read_text(_: JsonValue) -> FileText:
        return FileText(name="agents.json", text=AGENTS, base="1")

    async def save_text(_: JsonValue) -> EditReport:
        stored.append(world.environ.get("TELEGRAM_BOT_TOKEN"))
        return EditReport(name="agents.json", text="", base="2", saved=True)

    async with FakeBotApi(TOKEN) as bot:
        world = SetUpHome(tmp_path, {"TELEGRAM_API_URL": bot.url})
        world.methods = {editing.FILE_READ: read_text, editing.FILE_SAVE: save_text}
        assert (await (await open_setup(world)).set_up_bot("web:ann", {"token": TOKEN})).saved
    assert stored == [TOKEN]


async def test_token_that_does_not_work_is_not_kept(tmp_path: Path) -> None:
    """Malformed, unknown, or not to be tried: nothing is written."""
    async with FakeBotApi(TOKEN) as bot:
        world = SetUpHome(tmp_path, {"TELEGRAM_API_URL": bot.url})
        setup = await open_setup(world)
        for token in ("canary", OTHER):
            done = await setup.set_up_bot("web:ann", {"token": token})
            assert (done.works, done.saved) == (False, False)
            assert token not in done.text
    away = await setup.set_up_bot("web:ann", {"token": TOKEN})
    assert (away.works, TOKEN in away.text) == (False, False)
    wishes: list[JsonObject] = [{"token": TOKEN, "account": "Not A Name"}, {"token": "a\nb"}]
    for wrong in wishes:
        with pytest.raises(OrchestratorError):
            await setup.set_up_bot("web:ann", wrong)
    assert world.is_untouched


async def test_agent_that_is_not_there_gets_no_bot(tmp_path: Path) -> None:
    """A misspelt name would make a new agent."""
    async with FakeBotApi(TOKEN) as bot:
        world = SetUpHome(tmp_path, {"TELEGRAM_API_URL": bot.url})
        setup = await open_setup(world)
        with pytest.raises(OrchestratorError, match="choose one of assistant"):
            await setup.set_up_bot("web:ann", {"token": TOKEN, "agentId": "assistent"})
    assert world.is_untouched
