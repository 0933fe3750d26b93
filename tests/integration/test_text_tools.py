"""An agent whose model knows no tool calling works with tools all the same."""

from pathlib import Path
from typing import Any

import pytest
from fakes.bot_api import FakeBotApi
from fakes.calling_model import CallingModel, one_agent
from fakes.daemon import TOKEN, running_daemon
from fakes.model_api import Reply
from fakes.text_model import TextModel

from orchestrator.extensions.text_tool_calls.worker.inject import format_tool_call

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="models")]


@pytest.mark.parametrize(("way", "refusals"), [("text", 0), ("auto", 1)])
async def test_eight_calls_in_text_and_nobody_sees_one(
    tmp_path: Path, way: str, refusals: int
) -> None:
    """One byte at a time; roles alternate; with auto the provider is asked natively once."""
    async with (
        FakeBotApi(TOKEN) as bot,
        TextModel(8) as model,
        running_daemon(tmp_path, one_agent(model, {}, toolCalls=way, maxSteps=12), bot) as daemon,
    ):
        bot.send_user_message(1, "remember all of it")
        assert await bot.reply_in(1) == "Stored 8 facts."
        await daemon.until(lambda report: report.open_turns == 0)
        asked = [request.body for request in model.requests]
    assert sum("tools" in body for body in asked) == refusals
    last = asked[-1]
    assert [(name, call_id) for name, call_id, _ in model.results(last)] == [
        ("store_fact", f"call_{number}") for number in range(1, 9)
    ]
    roles = [message["role"] for message in last["messages"]]
    assert roles == ["system", *["user", "assistant"] * 8, "user"]
    shown = [
        call.params.get("text", "")
        for call in (*bot.calls("sendMessage"), *bot.calls("editMessageText"))
    ]
    assert not [text for text in shown if "tool_" in str(text) or "store_fact" in str(text)]
    warned = [line for line in daemon.log if line.get("event") == "tool_calls_as_text"]
    assert len(warned) == refusals


class MistakenModel(CallingModel):
    """Writes a call with an argument that the tool does not take, and repeats its result."""

    def echo(self, body: dict[str, Any]) -> Reply:
        """The call in text, or its result."""
        last = str(body["messages"][-1]["content"])
        if "<tool_result" in last:
            return Reply(last.replace("<tool_result", "result"))
        return Reply(format_tool_call("get_time", '{"zone": "UTC"}'))


@pytest.mark.parametrize(("way", "kind"), [("text", MistakenModel), ("native", CallingModel)])
async def test_unknown_argument_is_an_error_however_the_model_calls(
    tmp_path: Path, way: str, kind: type[CallingModel]
) -> None:
    """Calls in text and native calls reach the same check."""
    async with (
        FakeBotApi(TOKEN) as bot,
        kind() as model,
        running_daemon(tmp_path, one_agent(model, {}, toolCalls=way), bot),
    ):
        bot.send_user_message(1, '!get_time {"zone": "UTC"}')
        answer = await bot.reply_in(1)
    assert "unknown argument 'zone'; get_time takes: timezone" in answer
