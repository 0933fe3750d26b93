"""What an agent learns in one turn counts in the next, through the whole daemon."""

from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.daemon import TOKEN, running_daemon
from fakes.held_model import HeldModel, held_daemon, system, two_agents
from fakes.model_api import Reply

from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="chats")]

TEA: JsonObject = {
    "name": "tea",
    "description": "Makes tea.",
    "instructions": "1. Boil <water>.",
    "keywords": ["sencha"],
    "required_tools": ["kettle", "get_time"],
}
PERSONA: JsonObject = {"path": "persona.system_prompt", "value": "You are a butler."}


async def test_playbook_stored_by_a_tool_is_matched_at_the_next_message(tmp_path: Path) -> None:
    """Changed and deleted likewise; its missing tool is shown by the status."""
    async with held_daemon(tmp_path) as (bot, model, daemon):
        for name, arguments, text in (
            ("store_skill", TEA, "learn"),
            ("update_skill", {"name": "tea", "instructions": "1. Ask."}, "one sencha"),
            ("delete_skill", {"name": "tea"}, "two sencha"),
        ):
            model.script.append(Reply(tool_calls=((name, arguments),)))
            bot.send_user_message(123, text)
            await bot.reply_in(123)
        bot.send_user_message(123, "three sencha")
        await bot.reply_in(123)
        assert "### Playbook: tea\n1. Boil <water>." in system(await model.asked("one sencha"))
        assert "### Playbook: tea\n1. Ask." in system(await model.asked("two sencha"))
        assert "Playbook" not in system(await model.asked("three sencha"))
        hints = (await daemon.status()).hints
        assert [hint for hint in hints if "'kettle'" in hint and "'tea'" in hint]


async def test_profile_replaces_the_base_prompt_and_survives_a_restart(tmp_path: Path) -> None:
    """From the next turn on, for every chat of the agent."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model)
        async with running_daemon(tmp_path, config, bot):
            model.script.append(Reply(tool_calls=(("update_profile", PERSONA),)))
            bot.send_user_message(123, "be a butler")
            await bot.reply_in(123)
            bot.send_user_message(123, "who are you?")
            await bot.reply_in(123)
        async with running_daemon(tmp_path, config, bot):
            bot.send_user_message(123, "and now?")
            await bot.reply_in(123)
        assert not system(await model.asked("be a butler")).startswith("You are a butler.")
        for text in ("who are you?", "and now?"):
            assert system(await model.asked(text)).startswith("You are a butler.\n\n")


async def test_default_playbook_is_in_the_prompt_of_a_message_that_calls_for_it(
    tmp_path: Path,
) -> None:
    """Of the first message already; an agent whose globs leave it out has none."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        async with running_daemon(tmp_path, two_agents(model), bot):
            bot.send_user_message(123, "check my inbox please")
            await bot.reply_in(123)
        assert "### Playbook: email-triage\n1. " in system(
            await model.asked("check my inbox please")
        )
        async with running_daemon(tmp_path, two_agents(model, skills=["x"]), bot):
            bot.send_user_message(123, "check the inbox again")
            await bot.reply_in(123)
        assert "Playbook" not in system(await model.asked("check the inbox again"))
