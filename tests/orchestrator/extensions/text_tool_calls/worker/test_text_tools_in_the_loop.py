"""The loop with tools as text."""

from fakes.scripted import MemoryHost, ScriptedModel, says, spec
from fakes.time_limit import time_limit

from orchestrator.extensions.text_tool_calls.worker.inject import format_tool_call
from orchestrator.extensions.text_tool_calls.worker.text_tools import TextTools
from thinker.budget import TurnLimits
from thinker.loop import Loop, LoopRequest
from thinker.models.base import Model
from thinker.protocol.messages import ToolChoice, ToolSpec, UserMessage
from thinker.protocol.methods import RecordedStep, TurnResult
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


async def test_loop_is_the_same_with_tools_as_text() -> None:
    """Required, retried, called, answered; the record holds the tool block."""
    inner = ScriptedModel(says("No."), says(format_tool_call("add", "{}")), says("Done."))
    host = MemoryHost()
    result = await run(TextTools(inner), host, REQUIRED, spec("add"))
    assert (result.text, result.tools_used) == ("Done.", ("add",))
    required = ["you MUST emit at least one" in sent.system for sent in inner.requests]
    assert required == [True, True, False]
    assert inner.requests[2].messages[-1] == UserMessage(
        content='<tool_result name="add" id="call_1">add</tool_result>'
    )
    record = host.commits[0].step.prompt
    assert record is not None
    assert [layer.name for layer in record.layers] == ["tool_calls"]
    assert inner.requests[0].system.startswith(record.text)
