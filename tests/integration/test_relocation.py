"""An agent moves between two real daemons, with its bot and a question that waits."""

from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.control_server import ask
from fakes.daemon import TOKEN, RunningDaemon, running_daemon
from fakes.held_model import HeldModel, agent
from fakes.model_api import Reply
from pydantic import JsonValue

from orchestrator.control import protocol
from orchestrator.control.protocol import Ack, ApprovalDecision, ApprovalList
from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="operations")]
FACT = {"fact": "Likes tea.", "category": "preference"}
KEY = "TELEGRAM_BOT_TOKEN"


def _write_config(model: HeldModel, *names: str, bound: bool) -> JsonObject:
    """Agents of a model, of which `work` has the bot and asks before it stores anything."""
    bindings: list[JsonValue] = [{"channel": "telegram", "chatId": "*", "agentId": "work"}]
    return {
        "agents": [agent(name, model, approvals=["store_*"]) for name in names],
        "bindings": bindings if bound else [],
        "channels": {"telegram": {"access": "open"}} if bound else {},
    }


async def _until_bots(daemon: RunningDaemon, *, served: bool) -> None:
    """Wait until a daemon receives its bot, or does not."""
    await daemon.until(
        lambda report: served == any(one.name == "telegram" for one in report.channels)
    )


async def test_agent_with_its_bot_moves_while_both_daemons_run(tmp_path: Path) -> None:
    """The other agent answers on, the open question is answered at the new home, once."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    keys = f"{KEY}={TOKEN}\n"
    (here / "keys.env").write_text(keys)
    (here / "keys.env").chmod(0o600)
    async with FakeBotApi(TOKEN) as bot, HeldModel() as model:
        env = {"TELEGRAM_API_URL": bot.url, "OPENAI_API_KEY": "key"}
        first, second = (
            _write_config(model, "home", "work", bound=True),
            _write_config(model, "other", bound=False),
        )
        model.script.append(Reply(tool_calls=(("store_fact", FACT),)))
        async with (
            running_daemon(here, first, env=env) as old,
            running_daemon(there, second, env=env) as new,
        ):
            bot.send_user_message(123, "remember tea")
            await bot.reply_in(123)
            (asked,) = (await old.ask(protocol.APPROVAL_LIST, None, ApprovalList)).approvals
            done = await ask(here, "agents", "move", "work", "--to", str(there))
            assert done.exit_code == 0, done.output
            assert KEY in done.output
            refused = await ask(here, "approvals", "grant", asked.code)
            assert "nothing was decided" in refused.output
            bot.send_user_message(123, "and milk")
            refused = await ask(here, "agents", "moved", "work", "--confirm")
            assert "still receives the bot" in refused.output
            (here / "keys.env").write_text("")
            await ask(here, "reload")
            await _until_bots(old, served=False)
            done = await ask(here, "agents", "moved", "work", "--confirm")
            assert done.exit_code == 0, done.output
            (there / "keys.env").write_text(keys)
            (there / "keys.env").chmod(0o600)
            await ask(there, "reload")
            await _until_bots(new, served=True)
            (question,) = (await new.ask(protocol.APPROVAL_LIST, None, ApprovalList)).approvals
            assert question.code == asked.code
            decision = ApprovalDecision(code=question.code, granted=True)
            await new.ask(protocol.APPROVAL_DECIDE, decision, Ack)
            assert await bot.reply_in(123) == "work-model: remember tea"
            assert await bot.reply_in(123) == "work-model: and milk"
            answered = await ask(here, "send", "home", "still there?")
            assert "home-model: still there?" in answered.output
