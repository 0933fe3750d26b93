"""An answer that claims what was not done, with real processes: sent back, then marked."""

from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.calling_model import CallingModel, one_agent
from fakes.daemon import TOKEN, running_daemon
from fakes.model_api import Reply

from orchestrator.control.protocol import CLAIM_CONFIRM, Ack, TurnClaim
from orchestrator.journal.inspect.trace import load_turn_trace
from orchestrator.journal.opening import open_for_reading
from orchestrator.journal.turns.receipts import load_receipt

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="chats")]
LIE = "I've sent the email to Bob."
TRUTH = "The email was not sent: no tool for it is at hand."


async def test_false_claim_is_corrected_by_the_model(tmp_path: Path) -> None:
    """It is asked once more, with the reason and its tools; the chat reads only the correction."""
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        model.script += [Reply(LIE), Reply(TRUTH)]
        config = one_agent(model, {}, receipts="on")
        async with running_daemon(tmp_path, config, bot) as daemon:
            bot.send_user_message(1, "Send Bob the offer.")
            assert await bot.reply_in(1) == TRUTH
            report = await daemon.until(lambda report: report.open_turns == 0)
            assert report.recent_turns[0].stop_reason == "done"
        first, second = (request.body for request in model.requests)
        assert [message["content"] for message in second["messages"][-2:-1]] == [LIE]
        assert LIE in second["messages"][-1]["content"].replace("\\", "")
        assert second.get("tools") == first.get("tools")


async def test_claim_that_stays_is_marked_and_may_be_confirmed(tmp_path: Path) -> None:
    """The model says it twice: the chat sees why not to believe it, and a person may disagree."""
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        model.script += [Reply(LIE), Reply(LIE)]
        config = one_agent(model, {}, receipts="on")
        async with running_daemon(tmp_path, config, bot) as daemon:
            bot.send_user_message(1, "Send Bob the offer.")
            answer, _, mark = (await bot.reply_in(1)).partition("\n\n")
            assert (answer, mark.startswith("⚠️ Not confirmed: ")) == (LIE, True)
            await daemon.until(lambda report: report.open_turns == 0)
            with open_for_reading(daemon.settings.journal) as db:
                (turn_id,) = db.execute("SELECT id FROM turn").fetchone()
                details = [event.detail for event in load_turn_trace(db, turn_id).events]
            assert any("sent back, as it claims what was not done" in text for text in details)
            await daemon.ask(CLAIM_CONFIRM, TurnClaim(turn_id=turn_id[-8:], claim=1), Ack)
            with open_for_reading(daemon.settings.journal) as db:
                receipt = load_receipt(db, turn_id)
        assert receipt is not None
        assert [claim.confirmed_by for claim in receipt.claims] == ["operator"]
    assert len(model.requests) == 2


async def test_claim_is_only_marked_by_default(tmp_path: Path) -> None:
    """Without a further call of the model."""
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        model.script += [Reply(LIE)]
        async with running_daemon(tmp_path, one_agent(model, {}), bot):
            bot.send_user_message(1, "Send Bob the offer.")
            assert (await bot.reply_in(1)).startswith(f"{LIE}\n\n⚠️ Not confirmed: ")
    assert len(model.requests) == 1
