"""A tool call waits for the operator's word, in a real daemon, across a restart."""

from pathlib import Path

import pytest
from fakes.daemon import TOKEN, RunningDaemon, dying, running_daemon
from fakes.held_model import HeldModel, two_agents
from fakes.model_api import Reply

from orchestrator.control import protocol
from orchestrator.control.protocol import Ack, ApprovalDecision, ApprovalList, ApprovalReport
from orchestrator.selftest.fake_telegram import LOST_REQUEST, BotApiServer

pytestmark = pytest.mark.process
FACT = {"fact": "Likes tea.", "category": "preference"}


async def waiting(daemon: RunningDaemon) -> ApprovalReport:
    """The one call that waits."""
    found = await daemon.ask(protocol.APPROVAL_LIST, None, ApprovalList)
    (question,) = found.approvals
    return question


async def question_in(bot: BotApiServer, daemon: RunningDaemon) -> tuple[str, ApprovalReport]:
    """What a chat is asked once its agent wants to store a fact, and the call that waits."""
    bot.user_says(123, "remember tea")
    asked = await bot.reply_in(123, within=15)
    question = await waiting(daemon)
    assert f"approvals grant {question.code}" in asked
    return asked, question


async def test_granted_call_runs_once_after_a_restart_and_the_turn_goes_on(tmp_path: Path) -> None:
    """The question survives kill -9; nothing runs before the answer; one reply."""
    async with BotApiServer(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model, approvals=["store_*"])
        model.script.append(Reply(tool_calls=(("store_fact", FACT),)))
        async with running_daemon(tmp_path, config, bot) as daemon:
            asked, question = await question_in(bot, daemon)
            assert question.tool == "store_fact"
            await daemon.kill()
        async with running_daemon(tmp_path, config, bot) as daemon:
            assert (await waiting(daemon)).code == question.code
            word = ApprovalDecision(code=question.code, granted=True)
            await daemon.ask(protocol.APPROVAL_DECIDE, word, Ack)
            assert await bot.reply_in(123, within=15) == "work-model: remember tea"
            report = await daemon.until(lambda report: report.open_turns == 0)
        assert bot.texts(123) == [asked, "work-model: remember tea"]
        assert report.recent_turns[0].tools == ("store_fact",)
        assert len(model.requests_about("remember tea")) == 2


@pytest.mark.parametrize("kill", ["send:before#1", "send:after#1"])
async def test_question_is_asked_again_when_nobody_knows_whether_it_arrived(
    tmp_path: Path, kill: str
) -> None:
    """Somebody waits for it, and its code counts once however often it is shown."""
    died = dying(f"supervisor@{kill}", tmp_path)
    async with BotApiServer(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model, approvals=["store_*"])
        model.script.append(Reply(tool_calls=(("store_fact", FACT),)))
        async with running_daemon(tmp_path, config, bot, died) as daemon:
            bot.user_says(123, "remember tea")
            await daemon.died()
        before = len(bot.texts(123))
        async with running_daemon(tmp_path, config, bot) as daemon:
            await bot.called("sendMessage", within=15, times=before + 1)
            question = await waiting(daemon)
            assert all(f"approvals grant {question.code}" in text for text in bot.texts(123))
            word = ApprovalDecision(code=question.code, granted=True)
            await daemon.ask(protocol.APPROVAL_DECIDE, word, Ack)
            report = await daemon.until(lambda report: report.open_turns == 0)
        assert bot.texts(123)[-1] == "work-model: remember tea"
        assert report.recent_turns[0].tools == ("store_fact",)


async def test_question_whose_receipt_is_lost_is_asked_again(tmp_path: Path) -> None:
    """Without waiting for the next start."""
    async with BotApiServer(TOKEN) as bot, HeldModel() as model:
        bot.break_next("sendMessage", LOST_REQUEST)
        config = two_agents(model, approvals=["store_*"])
        model.script.append(Reply(tool_calls=(("store_fact", FACT),)))
        async with running_daemon(tmp_path, config, bot) as daemon:
            await question_in(bot, daemon)


async def test_denied_call_never_runs_and_the_model_is_told(tmp_path: Path) -> None:
    """The refusal is the call's result."""
    async with BotApiServer(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model, approvals=["store_fact"])
        model.script.append(Reply(tool_calls=(("store_fact", FACT),)))
        async with running_daemon(tmp_path, config, bot) as daemon:
            bot.user_says(123, "remember tea")
            await bot.reply_in(123, within=15)
            word = ApprovalDecision(code=(await waiting(daemon)).code, granted=False)
            await daemon.ask(protocol.APPROVAL_DECIDE, word, Ack)
            assert await bot.reply_in(123, within=15) == "work-model: remember tea"
        told = model.requests_about("remember tea")[1].body["messages"][-1]
        assert told["role"] == "tool"
        assert "not approved" in told["content"]
