"""A real daemon whose model fails: who is told, and what the model reads afterwards."""

from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.daemon import TOKEN, running_daemon
from fakes.held_model import HeldModel, two_agents
from fakes.model_api import Reply

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="chats")]
NOTIFIED = {"notifyChannel": "telegram", "notifyChatId": "456"}


async def test_answer_of_another_model_is_told_to_the_operator(tmp_path: Path) -> None:
    """In the words of the provider that failed, once; the status keeps it."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model, fallbackModels=["spare-model"], costControls=NOTIFIED)
        async with running_daemon(tmp_path, config, bot) as daemon:
            for text in ("one", "two"):
                model.script.append(Reply("it was withdrawn", status=404))
                bot.send_user_message(123, text)
                assert await bot.reply_in(123) == f"spare-model: {text}"
                await daemon.until(lambda report: report.open_turns == 0)
            (told,) = bot.list_texts(456)
            report = await daemon.until(lambda report: bool(report.hints))
        assert "Agent 'work' answers with less: openai/work-model failed" in told
        assert "it was withdrawn" in told
        (lacking,) = [one.lacking for one in report.agents if one.agent_id == "work"]
        assert "openai/spare-model answered" in lacking[0]
        assert "2 turns since" in lacking[0]
        assert any("agent 'work' answers with less" in note for note in report.notes)


async def test_failures_leave_no_words_that_the_model_takes_for_its_own(tmp_path: Path) -> None:
    """After three of them the question is there, and nothing that the agent never said."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        async with running_daemon(tmp_path, two_agents(model), bot):
            for _ in range(3):
                model.script.append(Reply("no", status=403))
                bot.send_user_message(123, "Capital of France?")
                assert "work-model" not in await bot.reply_in(123)
            bot.send_user_message(123, "And now?")
            assert await bot.reply_in(123) == "work-model: And now?"
        messages = (await model.asked("And now?")).body["messages"]
        assert {message["role"] for message in messages} == {"system", "user"}
