"""Rules for groups, from the file to the answer: the whole path, with real processes."""

from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.daemon import TOKEN, journal_bytes, running_daemon
from fakes.held_model import HeldModel, two_agents
from fakes.journal import opened
from pydantic import JsonValue

from orchestrator.control import protocol
from orchestrator.control.protocol import ReloadReport
from thinker.protocol.messages import JsonObject

ROBOT = {"id": 8, "is_bot": True, "first_name": "Robot"}
pytestmark = [pytest.mark.process, pytest.mark.thorough(part="chats")]


def grouped(model: HeldModel, **groups: JsonValue) -> JsonObject:
    """Two agents, in groups with these rules."""
    return two_agents(model) | {"channels": {"telegram": {"access": "open", "groups": groups}}}


async def test_group_is_answered_by_its_rules_and_an_edit_of_them_is_live(tmp_path: Path) -> None:
    """A pattern calls the bot, other bots never do, and what is not for it leaves no words."""
    async with FakeBotApi(TOKEN, "test_bot") as bot, HeldModel() as model:
        bot.bot["can_read_all_group_messages"] = False
        rules = grouped(model, patterns=["^hey bot"])
        async with running_daemon(tmp_path, rules, bot) as daemon:
            bot.send_user_message(-100, "pssst between us")
            bot.send_user_message(-100, "Hey bot, says the robot", **{"from": ROBOT})
            quote = {"type": "blockquote", "offset": 0, "length": 10}
            bot.send_user_message(-100, "Hey bot hm\nwho asked that?", entities=[quote])
            bot.send_user_message(-100, "Hey bot, what time is it?")
            assert await bot.reply_in(-100) == "home-model: Hey bot, what time is it?"
            daemon.write(grouped(model, chats={"-100": {"answer": ["all"]}}))
            await daemon.ask(protocol.RELOAD, None, ReloadReport)
            bot.send_user_message(-100, "I say so too", **{"from": ROBOT})
            bot.send_user_message(-200, "pssst over here")
            bot.send_user_message(-100, "and tomorrow?")
            assert await bot.reply_in(-100) == "home-model: and tomorrow?"
            report = await daemon.until(lambda report: report.open_turns == 0)
            assert any("/setprivacy" in hint for hint in report.hints)
            assert report.inbox == {"new": 0, "claimed": 0, "done": 2, "dead": 0, "cancelled": 5}
    with opened(tmp_path) as db:
        refused = db.execute("SELECT error FROM inbox WHERE state = 'cancelled' ORDER BY id")
        assert [reason for (reason,) in refused] == [
            "not addressed",
            "from a bot",
            "not addressed",
            "from a bot",
            "not addressed",
        ]
    stored = journal_bytes(tmp_path)
    assert not any(words in stored for words in (b"pssst", b"the robot", b"I say so too"))
