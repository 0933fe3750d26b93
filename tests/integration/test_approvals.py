"""A tool call waits for the operator's decision, in a real daemon, across a restart."""

from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.control_server import ask
from fakes.daemon import TOKEN, RunningDaemon, dying, running_daemon
from fakes.held_model import HeldModel, two_agents
from fakes.model_api import Reply

from orchestrator.control import protocol
from orchestrator.control.protocol import Ack, ApprovalDecision, ApprovalList, ApprovalReport

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="chats")]
FACT = {"fact": "Likes tea.", "category": "preference"}


async def waiting(daemon: RunningDaemon) -> ApprovalReport:
    """Return the one call that waits for approval."""
    found = await daemon.ask(protocol.APPROVAL_LIST, None, ApprovalList)
    (question,) = found.approvals
    return question


async def question_in(bot: FakeBotApi, daemon: RunningDaemon) -> tuple[str, ApprovalReport]:
    """Return the question in a chat whose agent wants to store a fact, and the waiting call."""
    bot.send_user_message(123, "remember tea")
    asked = await bot.reply_in(123)
    question = await waiting(daemon)
    assert f"approvals grant {question.code}" in asked
    return asked, question


async def test_granted_call_runs_once_after_a_restart_and_the_turn_goes_on(tmp_path: Path) -> None:
    """The question survives kill -9; nothing runs before the answer; one reply."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model, approvals=["store_*"])
        model.script.append(Reply(tool_calls=(("store_fact", FACT),)))
        async with running_daemon(tmp_path, config, bot) as daemon:
            asked, question = await question_in(bot, daemon)
            assert question.tool == "store_fact"
            await daemon.kill()
        async with running_daemon(tmp_path, config, bot) as daemon:
            assert (await waiting(daemon)).code == question.code
            decision = ApprovalDecision(code=question.code, granted=True)
            await daemon.ask(protocol.APPROVAL_DECIDE, decision, Ack)
            assert await bot.reply_in(123) == "work-model: remember tea"
            report = await daemon.until(lambda report: report.open_turns == 0)
        told = f"{asked}\n\n\u2705 Approved once by operator."
        assert bot.list_texts(123) == [told, "work-model: remember tea"]
        assert report.recent_turns[0].tools == ("store_fact",)
        assert len(model.requests_about("remember tea")) == 2


async def test_question_is_asked_again_when_its_delivery_is_unknown(tmp_path: Path) -> None:
    """The turn waits for the decision, and a code counts once however often it is shown."""
    died = dying("supervisor@send:after#1", tmp_path)
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model, approvals=["store_*"])
        model.script.append(Reply(tool_calls=(("store_fact", FACT),)))
        async with running_daemon(tmp_path, config, bot, died) as daemon:
            bot.send_user_message(123, "remember tea")
            await daemon.died()
        before = len(bot.list_texts(123))
        async with running_daemon(tmp_path, config, bot) as daemon:
            await bot.called("sendMessage", times=before + 1)
            question = await waiting(daemon)
            assert all(f"approvals grant {question.code}" in text for text in bot.list_texts(123))
            decision = ApprovalDecision(code=question.code, granted=True)
            await daemon.ask(protocol.APPROVAL_DECIDE, decision, Ack)
            report = await daemon.until(lambda report: report.open_turns == 0)
        assert bot.list_texts(123)[-1] == "work-model: remember tea"
        assert report.recent_turns[0].tools == ("store_fact",)


async def test_denied_call_never_runs_and_the_model_is_told(tmp_path: Path) -> None:
    """The refusal is the call's result."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model, approvals=["store_fact"])
        model.script.append(Reply(tool_calls=(("store_fact", FACT),)))
        async with running_daemon(tmp_path, config, bot) as daemon:
            bot.send_user_message(123, "remember tea")
            await bot.reply_in(123)
            decision = ApprovalDecision(code=(await waiting(daemon)).code, granted=False)
            await daemon.ask(protocol.APPROVAL_DECIDE, decision, Ack)
            assert await bot.reply_in(123) == "work-model: remember tea"
        result = model.requests_about("remember tea")[1].body["messages"][-1]
        assert result["role"] == "tool"
        assert "not approved" in result["content"]


async def test_a_button_decides_once_across_kills(tmp_path: Path) -> None:
    """The press is repeated after a death behind T1; one call, one reply, no buttons left."""
    died = dying("supervisor@ingest:after#2", tmp_path)
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model, approvals=["store_*"])
        model.script.append(Reply(tool_calls=(("store_fact", FACT),)))
        async with running_daemon(tmp_path, config, bot, died) as daemon:
            asked, _ = await question_in(bot, daemon)
            approve, message_id = bot.list_buttons(123)[0][1], bot.last_number(123)
            bot.press_button(123, approve, message_id)
            await daemon.died()
        async with running_daemon(tmp_path, config, bot) as daemon:
            assert await bot.reply_in(123) == "work-model: remember tea"
            await bot.shows(123, f"{asked}\n\n\u2705 Approved once by telegram:123.")
            bot.press_button(123, approve, message_id)
            await bot.called("answerCallbackQuery")
            report = await daemon.until(lambda report: report.open_turns == 0)
        assert bot.list_buttons(123) == []
        assert len(bot.list_texts(123)) == 2
        assert report.recent_turns[0].tools == ("store_fact",)
        assert bot.press_answers[-1][1] == "\u2705 Approved once by telegram:123."


async def test_buttons_go_when_the_decision_is_made_elsewhere(tmp_path: Path) -> None:
    """The question says by whom."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model, approvals=["store_*"])
        model.script.append(Reply(tool_calls=(("store_fact", FACT),)))
        async with running_daemon(tmp_path, config, bot) as daemon:
            asked, question = await question_in(bot, daemon)
            labels = [label for label, _ in bot.list_buttons(123)]
            assert labels == ["Approve once", "Deny", "Always for this tool here"]
            decision = ApprovalDecision(code=question.code, granted=False)
            await daemon.ask(protocol.APPROVAL_DECIDE, decision, Ack)
            await bot.shows(123, f"{asked}\n\n\u274c Denied by operator.")
        assert bot.list_buttons(123) == []


async def test_question_is_asked_again_after_a_restore_and_status_says_what_waits(
    tmp_path: Path,
) -> None:
    """It was answered after the backup, so nobody knows that the chat waits once more."""
    home, backup = tmp_path / "home", tmp_path / "backup.tar.gz"
    home.mkdir()
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model, approvals=["store_*"])
        model.script.append(Reply(tool_calls=(("store_fact", FACT),)))
        async with running_daemon(home, config, bot) as daemon:
            asked, question = await question_in(bot, daemon)
            waits = "chat telegram:123 waits for a decision about store_fact;"
            assert any(hint.startswith(waits) for hint in (await daemon.status()).hints)
            assert (await ask(home, "backup", str(backup))).exit_code == 0
            decision = ApprovalDecision(code=question.code, granted=False)
            await daemon.ask(protocol.APPROVAL_DECIDE, decision, Ack)
            await daemon.until(lambda report: report.open_turns == 0)
            await bot.reply_in(123)
        done = await ask(home, "restore", str(backup), "--replace")
        assert (done.exit_code, "waiting   1 call for a decision" in done.stdout) == (0, True)
        async with running_daemon(home, config, bot) as daemon:
            again = await bot.reply_in(123)
            assert "I was restored from a backup of" in again
            assert again.endswith(asked)
            decision = ApprovalDecision(code=question.code, granted=True)
            await daemon.ask(protocol.APPROVAL_DECIDE, decision, Ack)
            assert await bot.reply_in(123) == "work-model: remember tea"


async def test_one_answer_covers_the_calls_of_a_response_across_a_kill(tmp_path: Path) -> None:
    """One question, one code; each call runs once, and the turn goes on."""
    calls = (("store_fact", FACT), ("store_fact", {**FACT, "fact": "Likes cake."}))
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model, approvals=["store_*"])
        model.script.append(Reply(tool_calls=calls))
        async with running_daemon(tmp_path, config, bot) as daemon:
            asked, question = await question_in(bot, daemon)
            assert "approval for these 2 calls" in asked
            assert '2 calls of "store_fact" (built in), differing in: "fact"' in asked
            assert len(question.calls) == 2
            assert bot.list_buttons(123)[0][0] == "Approve these 2"
            await daemon.kill()
        async with running_daemon(tmp_path, config, bot) as daemon:
            assert (await waiting(daemon)).code == question.code
            bot.press_button(123, bot.list_buttons(123)[0][1], bot.last_number(123))
            assert await bot.reply_in(123) == "work-model: remember tea"
            report = await daemon.until(lambda report: report.open_turns == 0)
        assert report.recent_turns[0].tools == ("store_fact", "store_fact")
        assert len(bot.list_texts(123)) == 2
        assert len(model.requests_about("remember tea")) == 2


async def test_answer_for_good_spares_the_next_question_until_it_is_ended(tmp_path: Path) -> None:
    """By a button in the chat; the command lists it, and ends it."""
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        config = two_agents(model, approvals=["store_*"])
        model.script.append(Reply(tool_calls=(("store_fact", FACT),)))
        async with running_daemon(tmp_path, config, bot) as daemon:
            await question_in(bot, daemon)
            label, data = bot.list_buttons(123)[2]
            assert label == "Always for this tool here"
            bot.press_button(123, data, bot.last_number(123))
            assert await bot.reply_in(123) == "work-model: remember tea"
            model.script.append(Reply(tool_calls=(("store_fact", {**FACT, "fact": "Cake."}),)))
            bot.send_user_message(123, "remember cake")
            assert await bot.reply_in(123) == "work-model: remember cake"
            listed = await ask(tmp_path, "rules", "list")
            assert "work may call store_fact in telegram:123 until" in listed.stdout
            ended = await ask(tmp_path, "rules", "revoke", "1")
            assert ended.stdout.startswith("ended: work may call store_fact")
            model.script.append(Reply(tool_calls=(("store_fact", {**FACT, "fact": "Pie."}),)))
            bot.send_user_message(123, "remember pie")
            assert "I need my operator's approval" in await bot.reply_in(123)
