"""A tool call waits for the operator's word, in a real daemon, across a restart."""

from pathlib import Path

import pytest
from fakes.daemon import TOKEN, RunningDaemon, running_daemon
from fakes.held_model import HeldModel, two_agents
from fakes.model_api import Reply

from orchestrator import control
from orchestrator.control import ApprovalList, ApprovalReport, Done, Word
from orchestrator.selftest.bot_api import BotApiServer

pytestmark = pytest.mark.process
FACT = {"fact": "Likes tea.", "category": "preference"}


async def waiting(daemon: RunningDaemon) -> ApprovalReport:
    """The one call that waits."""
    found = await daemon.ask(control.APPROVAL_LIST, None, ApprovalList)
    (question,) = found.approvals
    return question


async def test_granted_call_runs_once_after_a_restart_and_the_turn_goes_on(tmp_path: Path) -> None:
    """The question survives kill -9; nothing runs before the answer; one reply."""
    async with BotApiServer(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model, approvals=["store_*"])
        model.script.append(Reply(tool_calls=(("store_fact", FACT),)))
        async with running_daemon(tmp_path, config, bot) as daemon:
            bot.user_says(123, "remember tea")
            asked = await bot.reply_in(123, within=15)
            question = await waiting(daemon)
            assert question.tool == "store_fact"
            assert f"approvals grant {question.code}" in asked
            await daemon.kill()
        async with running_daemon(tmp_path, config, bot) as daemon:
            assert (await waiting(daemon)).code == question.code
            word = Word(code=question.code, granted=True)
            await daemon.ask(control.APPROVAL_DECIDE, word, Done)
            assert await bot.reply_in(123, within=15) == "work-model: remember tea"
            report = await daemon.until(lambda report: report.open_turns == 0)
        assert bot.texts(123) == [asked, "work-model: remember tea"]
        assert report.recent_turns[0].tools == ("store_fact",)
        assert len(model.requests_about("remember tea")) == 2


async def test_denied_call_never_runs_and_the_model_is_told(tmp_path: Path) -> None:
    """The refusal is the call's result."""
    async with BotApiServer(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model, approvals=["store_fact"])
        model.script.append(Reply(tool_calls=(("store_fact", FACT),)))
        async with running_daemon(tmp_path, config, bot) as daemon:
            bot.user_says(123, "remember tea")
            await bot.reply_in(123, within=15)
            word = Word(code=(await waiting(daemon)).code, granted=False)
            await daemon.ask(control.APPROVAL_DECIDE, word, Done)
            assert await bot.reply_in(123, within=15) == "work-model: remember tea"
        told = model.requests_about("remember tea")[1].body["messages"][-1]
        assert told["role"] == "tool"
        assert "not approved" in told["content"]
