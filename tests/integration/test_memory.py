"""What an agent learns in one turn counts in the next, through the whole daemon."""

from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.daemon import TOKEN, running_daemon
from fakes.held_model import HeldModel, held_daemon, system, two_agents
from fakes.model_api import Reply

from orchestrator.control.protocol import Ack, RowId
from orchestrator.extensions.memory.memories import FactEdit, FactPage, FactQuery
from orchestrator.extensions.memory.memory_part import (
    FACT_EDIT,
    FACT_FORGET,
    FACT_LIST,
    FACT_UNDO,
)
from thinker.protocol.messages import JsonObject
from thinker.protocol.peer import RpcError

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


FACT: JsonObject = {"fact": "Ann drinks green tea every morning."}


async def test_person_is_told_sees_forgets_and_undoes_what_was_remembered(tmp_path: Path) -> None:
    """In the chat, by the daemon alone; no model reads what it says there."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model, factExtraction={"tell": "private"})
        async with running_daemon(tmp_path, config, bot) as daemon:
            model.script.append(Reply(tool_calls=(("store_fact", FACT),)))
            bot.send_user_message(123, "I drink green tea")
            assert await bot.reply_in(123) == "work-model: I drink green tea"
            told = "Remembered: Ann drinks green tea every morning. · /memory undo 1"
            assert await bot.reply_in(123) == told
            answers = {}
            for command in ("/memory", "/memory forget 1", "/memory tea", "/memory undo"):
                bot.send_user_message(123, command)
                answers[command] = await bot.reply_in(123)
            assert "- Ann drinks green tea every morning. (1, " in answers["/memory"]
            assert "within a day" in answers["/memory forget 1"].lower()
            assert answers["/memory tea"].startswith("I remember nothing with these words")
            assert "- Ann drinks green tea" in answers["/memory undo"]
            bot.send_user_message(123, "green tea?")
            await bot.reply_in(123)
            await daemon.until(lambda report: report.open_turns == 0)
            page = await daemon.ask(FACT_LIST, FactQuery(agent="work"), FactPage)
            assert [fact.fact for fact in page.facts] == [FACT["fact"]]
            with pytest.raises(RpcError):
                await daemon.ask(FACT_LIST, {"limit": 0}, FactPage)
            edit = FactEdit(id=1, text="Ann drinks coffee.")
            await daemon.ask(FACT_EDIT, edit, Ack)
            await daemon.ask(FACT_UNDO, RowId(id=1), Ack)
            await daemon.ask(FACT_FORGET, RowId(id=1), Ack)
            with pytest.raises(RpcError, match="unknown fact 1"):
                await daemon.ask(FACT_EDIT, edit, Ack)
    said = str([message for request in model.requests for message in request.body["messages"]])
    assert "green tea" in said
    assert "Remembered:" not in said
    assert "/memory" not in said
