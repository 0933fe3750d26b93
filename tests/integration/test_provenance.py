"""Text of a tool is told apart in a real daemon, and what it may cause waits for the operator."""

from pathlib import Path

import pytest
from fakes.bot_api import FakeBotApi
from fakes.calling_model import CallingModel, one_agent, operated
from fakes.daemon import TOKEN, RunningDaemon, running_daemon
from fakes.fences import quoted
from fakes.held_model import system
from fakes.mcp_config import effects, entry
from fakes.model_api import Reply

from orchestrator.control import protocol
from orchestrator.control.protocol import Ack, ApprovalDecision, ApprovalList, ApprovalReport
from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="chats")]
TWO = ["wild_echo", "wild_counter"]
NOTE = {"text": "PRIVATE-7741"}


async def connected(daemon: RunningDaemon) -> None:
    await daemon.until(lambda report: report.tool_servers[0].state == "connected")


async def waiting(daemon: RunningDaemon) -> ApprovalReport:
    (question,) = (await daemon.ask(protocol.APPROVAL_LIST, None, ApprovalList)).approvals
    return question


async def test_call_that_could_carry_data_out_waits_and_runs_when_approved(tmp_path: Path) -> None:
    """The note is fenced, and the question survives a restart and names what was read."""
    servers: JsonObject = {"wild": entry(tmp_path, "wild")}
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        config = operated(one_agent(model, servers, allowedTools=TWO), "1")
        model.script += [
            Reply(tool_calls=(("wild_echo", NOTE),)),
            Reply(tool_calls=(("wild_counter", {"step": "PRIVATE-7741"}),)),
        ]
        async with running_daemon(tmp_path, config, bot) as daemon:
            await connected(daemon)
            bot.send_user_message(1, "read my note")
            asked = await bot.reply_in(1)
            assert "private data (wild_echo) and text from a tool (wild_echo)" in asked
            code = (await waiting(daemon)).code
            assert effects(tmp_path, "wild") == []
            await daemon.kill()
        async with running_daemon(tmp_path, None, bot) as daemon:
            await connected(daemon)
            decision = ApprovalDecision(code=code, granted=True)
            await daemon.ask(protocol.APPROVAL_DECIDE, decision, Ack)
            assert await bot.reply_in(1) == "result: 1"
        assert effects(tmp_path, "wild") == ["PRIVATE-7741"]
        first, *_rest, last = (request.body["messages"] for request in model.requests)
        results = [message["content"] for message in last if message["role"] == "tool"]
        assert quoted(results[0]) == [("the tool wild_echo", "PRIVATE-7741")]
        assert "untrusted" not in str(first)


async def test_two_receipts_need_no_approval(tmp_path: Path) -> None:
    """What a tool says of what it did is not private."""
    servers: JsonObject = {"wild": entry(tmp_path, "wild")}
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        model.script += [
            Reply(tool_calls=(("wild_counter", {"step": "one"}),)),
            Reply(tool_calls=(("wild_counter", {"step": "two"}),)),
        ]
        async with running_daemon(tmp_path, one_agent(model, servers), bot) as daemon:
            await connected(daemon)
            bot.send_user_message(1, "count one and two")
            assert await bot.reply_in(1) == "result: 2"
        assert effects(tmp_path, "wild") == ["one", "two"]


async def test_fact_of_a_tool_is_quoted_data_in_later_turns(tmp_path: Path) -> None:
    """It stands in the newest message, and nothing of it in the system prompt."""
    fact = "The user travels by train only."
    servers: JsonObject = {"wild": entry(tmp_path, "wild")}
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        model.script += [
            Reply(tool_calls=(("wild_add", {"a": 1, "b": 2}),)),
            Reply(tool_calls=(("store_fact", {"fact": fact}),)),
        ]
        async with running_daemon(tmp_path, one_agent(model, servers), bot) as daemon:
            await connected(daemon)
            bot.send_user_message(1, "add")
            await bot.reply_in(1)
            bot.send_user_message(1, "Which train do I take?")
            await bot.reply_in(1)
        last = model.requests[-1]
        assert fact not in system(last)
        ((_source, text),) = quoted(last.body["messages"][-1]["content"])
        assert fact in text


async def test_agent_without_provenance_reads_and_acts_as_before(tmp_path: Path) -> None:
    """No fence and no question."""
    servers: JsonObject = {"wild": entry(tmp_path, "wild")}
    async with FakeBotApi(TOKEN) as bot, CallingModel() as model:
        config = one_agent(model, servers, allowedTools=TWO, provenance="off")
        model.script += [
            Reply(tool_calls=(("wild_echo", NOTE),)),
            Reply(tool_calls=(("wild_counter", {"step": "x"}),)),
        ]
        async with running_daemon(tmp_path, config, bot) as daemon:
            await connected(daemon)
            bot.send_user_message(1, "read my note")
            assert await bot.reply_in(1) == "result: 1"
        assert "untrusted" not in str([request.body["messages"] for request in model.requests])
