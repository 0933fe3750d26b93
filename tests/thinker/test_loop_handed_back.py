"""Tools that an API client runs: a call of one ends the turn."""

from fakes.scripted import MemoryHost, ScriptedModel, call, calls, says, spec
from fakes.time_limit import time_limit

from thinker.budget import TurnLimits
from thinker.loop import Loop, LoopRequest
from thinker.models.base import Model
from thinker.protocol.messages import NO_TOOLS, ToolChoice, ToolSpec, UserMessage
from thinker.protocol.methods import RecordedStep, StopReason, TurnResult
from thinker.protocol.prompt_record import PromptRecord

THEIRS = spec("theirs", x="integer").model_copy(update={"handed_back": True})
TOOLS = (spec("ours"), THEIRS)


async def run(
    model: Model,
    host: MemoryHost,
    recorded: tuple[RecordedStep, ...] = (),
    *,
    tools: tuple[ToolSpec, ...] = TOOLS,
    max_steps: int = 8,
) -> TurnResult:
    """Run a turn with one tool of the host and one of the client."""
    limits = TurnLimits(max_steps=max_steps, max_tokens=0, deadline=1000.0)
    messages = (UserMessage(content="do it"),)
    request = LoopRequest("t1", PromptRecord(layers=()), messages, tools, limits)
    with time_limit():
        return await Loop(request, model, host, lambda: 0.0).run(recorded)


async def test_our_calls_run_and_theirs_end_the_turn() -> None:
    """With the text beside them; a turn resumed there ends the same way."""
    host = MemoryHost()
    step = calls(call("a", "ours"), call("b", "theirs", x=1), text="One moment.")
    result = await run(ScriptedModel(step), host)
    assert (result.stop_reason, result.text) == (StopReason.HANDED_BACK, "One moment.")
    assert [host.planned[seq].name for seq in host.ran] == ["ours"]
    assert await run(ScriptedModel(), host, host.recorded()) == result
    assert len(host.ran) == 1


async def test_call_of_theirs_that_cannot_run_goes_back_to_the_model() -> None:
    """The client only gets calls that match the schema."""
    model = ScriptedModel(calls(call("b", "theirs", x="no")), calls(call("c", "theirs", x="2")))
    host = MemoryHost()
    result = await run(model, host)
    assert result.stop_reason is StopReason.HANDED_BACK
    assert [step.step.calls[0].arguments for step in host.commits] == [{}, {"x": 2}]


async def test_last_step_may_call_theirs_and_none_of_ours() -> None:
    """No further step of this turn reads the result."""
    both = calls(call("a", "ours"), call("b", "theirs", x=1))
    model, host = ScriptedModel(both), MemoryHost()
    result = await run(model, host, max_steps=1)
    assert model.requests[0].tool_choice == ToolChoice()
    assert result.stop_reason is StopReason.HANDED_BACK
    assert [planned.rejected is None for planned in host.commits[0].step.calls] == [False, True]
    model = ScriptedModel(says("done"))
    await run(model, MemoryHost(), tools=TOOLS[:1], max_steps=1)
    assert model.requests[0].tool_choice == NO_TOOLS
