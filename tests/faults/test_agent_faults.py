"""What agents and impatient people may not achieve (F61, F66)."""

from pathlib import Path

import anyio
import pytest
from fakes.bot_api import FakeBotApi
from fakes.calling_model import CallingModel, one_agent, operated
from fakes.daemon import TOKEN, RunningDaemon, running_daemon
from fakes.mcp_config import effects, entry

from orchestrator.control import protocol
from orchestrator.control.protocol import Ack, ApprovalDecision, ApprovalList
from thinker.protocol.peer import RpcError

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="chats")]
CLICKS = 8


async def click(daemon: RunningDaemon, code: str, answers: list[bool]) -> None:
    """Grant a call over a connection of its own; whether that was accepted."""
    try:
        await daemon.ask(protocol.APPROVAL_DECIDE, ApprovalDecision(code=code, granted=True), Ack)
    except RpcError:
        answers.append(False)
    else:
        answers.append(True)


async def test_approval_clicked_eight_times_at_once_runs_the_call_once(tmp_path: Path) -> None:
    """One click counts; a second call with other arguments asks anew (F61)."""
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        servers = {"wild": entry(tmp_path, "wild")}
        config = operated(one_agent(model, {**servers}, approvals=["wild_counter"]), "1")
        async with running_daemon(tmp_path, config, bot) as daemon:
            for number, step in enumerate(("one", "two")):
                bot.send_user_message(1, f'!wild_counter {{"step": "{step}"}}')
                assert "approvals grant" in await bot.reply_in(1)
                assert len(effects(tmp_path, "wild")) == number
                found = await daemon.ask(protocol.APPROVAL_LIST, None, ApprovalList)
                (question,) = found.approvals
                answers: list[bool] = []
                async with anyio.create_task_group() as clicks:
                    for _ in range(CLICKS):
                        clicks.start_soon(click, daemon, question.code, answers)
                assert sorted(answers) == [False] * (CLICKS - 1) + [True]
                assert await bot.reply_in(1) == f"result: {number + 1}"
        assert effects(tmp_path, "wild") == ["one", "two"]


async def test_agent_cannot_restart_the_daemon(tmp_path: Path) -> None:
    """No tool does it, by any name; the call is an error for the model and nothing more (F66)."""
    names = ("restart_daemon", "run_shell", "orchestrator", "agents_resume", "edit_config")
    async with (
        FakeBotApi(TOKEN) as bot,
        CallingModel() as model,
        running_daemon(tmp_path, one_agent(model, {}), bot) as daemon,
    ):
        for name in names:
            bot.send_user_message(1, f'!{name} {{"command": "systemctl restart orchestrator"}}')
            assert "there is no tool named" in await bot.reply_in(1)
        assert [line["event"] for line in daemon.log].count("ready") == 1
        assert daemon.process.returncode is None
        report = await daemon.until(lambda report: report.open_turns == 0)
    assert {turn.stop_reason for turn in report.recent_turns} == {"done"}
