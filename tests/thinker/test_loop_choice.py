"""Tool choice in the loop: a required tool is called, or the turn fails and says so."""

import pytest
from fakes.scripted import MemoryHost, ScriptedModel, call, calls, says, spec
from fakes.time_limit import time_limit

from thinker.budget import TurnLimits
from thinker.loop import Loop, LoopRequest
from thinker.models.base import Model
from thinker.protocol.messages import AUTO, NO_TOOLS, ToolChoice, ToolSpec, UserMessage
from thinker.protocol.methods import RecordedStep, StopReason, TurnResult
from thinker.protocol.notices import STOP_TEXTS
from thinker.protocol.prompt_record import ModelSettings, PromptRecord

REQUIRED = ToolChoice(mode="required")
FORCED = ToolChoice(mode="function", name="add")


async def run(
    model: Model,
    host: MemoryHost,
    choice: ToolChoice,
    *tools: ToolSpec,
    recorded: tuple[RecordedStep, ...] = (),
) -> TurnResult:
    """A turn with a tool choice."""
    settings = ModelSettings(model="", tool_choice=choice, parallel=True)
    request = LoopRequest(
        "t1",
        PromptRecord(layers=(), settings=settings),
        (UserMessage(content="do it"),),
        tools,
        TurnLimits(max_steps=8, max_tokens=0, deadline=1000.0),
    )
    with time_limit():
        return await Loop(request, model, host, lambda: 0.0).run(recorded)


@pytest.mark.parametrize("choice", [REQUIRED, FORCED])
async def test_choice_holds_until_a_call_ran_and_is_auto_then(choice: ToolChoice) -> None:
    """The answer after the call needs none."""
    model = ScriptedModel(calls(call("a", "add")), says("Done."))
    result = await run(model, MemoryHost(), choice, spec("add"))
    assert (result.stop_reason, result.text) == (StopReason.DONE, "Done.")
    assert [sent.tool_choice for sent in model.requests] == [choice, AUTO]


async def test_answer_without_the_call_is_asked_again_twice_then_fails() -> None:
    """Each time with a reminder."""
    model = ScriptedModel(says("No."), says("Still no."), says("Never."))
    result = await run(model, MemoryHost(), FORCED, spec("add"))
    assert result.stop_reason is StopReason.TOOL_CHOICE
    assert result.text == STOP_TEXTS[StopReason.TOOL_CHOICE]
    assert result.error
    assert len(model.requests) == 3
    texts = [message.content for message in model.requests[1].messages]
    assert texts[1] == "No."
    assert "'add'" in texts[2]


async def test_call_that_cannot_run_does_not_meet_the_choice() -> None:
    """A tool other than the forced one is rejected and counts as a miss."""
    other = calls(call("a", "sub"))
    model, host = ScriptedModel(other, other, other), MemoryHost()
    result = await run(model, host, FORCED, spec("add"), spec("sub"))
    assert result.stop_reason is StopReason.TOOL_CHOICE
    assert host.ran == []
    assert "only 'add' may be called" in model.requests[1].messages[-1].content


async def test_resumed_turn_goes_on_with_the_misses_it_had() -> None:
    """Two recorded answers without a call leave one."""
    host = MemoryHost()
    await run(ScriptedModel(says("No."), says("No."), says("No.")), host, REQUIRED, spec("add"))
    model = ScriptedModel(says("Never."))
    recorded = host.recorded()[:2]
    result = await run(model, MemoryHost(), REQUIRED, spec("add"), recorded=recorded)
    assert (result.stop_reason, result.steps) == (StopReason.TOOL_CHOICE, 3)


@pytest.mark.parametrize(("choice", "tools"), [(REQUIRED, ()), (FORCED, (spec("sub"),))])
async def test_choice_that_cannot_be_met_asks_no_model(
    choice: ToolChoice, tools: tuple[ToolSpec, ...]
) -> None:
    """It is a configuration error for the operator."""
    result = await run(ScriptedModel(), MemoryHost(), choice, *tools)
    assert result.stop_reason is StopReason.TOOL_CHOICE
    assert result.error is not None
    assert "offered" in result.error


async def test_no_call_runs_when_the_choice_is_none() -> None:
    """The model reads why, and answers in text."""
    model, host = ScriptedModel(calls(call("a", "add")), says("Fine.")), MemoryHost()
    result = await run(model, host, NO_TOOLS, spec("add"))
    assert (result.text, host.ran) == ("Fine.", [])
    assert "no tool may be called now" in model.requests[1].messages[-1].content


async def test_strict_tool_is_not_coerced() -> None:
    """Its arguments match the schema, or the model reads why they do not."""
    strict = spec("add", a="integer").model_copy(update={"strict": True})
    wrong, right = call("a", "add", a="5"), call("b", "add", a=5)
    model, host = ScriptedModel(calls(wrong), calls(right), says("5")), MemoryHost()
    await run(model, host, AUTO, strict)
    assert [host.planned[seq].id for seq in host.ran] == ["b"]


async def test_call_that_no_model_made_meets_no_choice_and_is_no_step() -> None:
    """After calls that the operator configured to run first, the model still has to call."""
    before = MemoryHost(drain_after=1)
    await run(ScriptedModel(calls(call("a", "add"))), before, AUTO, spec("add"))
    recorded = tuple(step.model_copy(update={"asked": False}) for step in before.recorded())
    model = ScriptedModel(calls(call("b", "add")), says("Done."))
    result = await run(model, before.resumed(recorded), REQUIRED, spec("add"), recorded=recorded)
    assert [sent.tool_choice for sent in model.requests] == [REQUIRED, AUTO]
    assert (result.text, result.steps) == ("Done.", 2)
