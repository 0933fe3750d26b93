"""Messages that join a running turn between two steps."""

import pytest
from fakes.scripted import MemoryHost, ScriptedModel, call, calls, says, spec
from fakes.time_limit import time_limit

from thinker.budget import TurnLimits
from thinker.loop import Loop, LoopRequest
from thinker.models.base import ModelRequest, ModelResponse
from thinker.protocol.messages import AssistantMessage, Message, ToolResult, UserMessage
from thinker.protocol.methods import RecordedStep, TurnResult
from thinker.protocol.prompt_record import PromptRecord

FIRST = UserMessage(content="do it")
SECOND = UserMessage(content="no, wait")
STEP = calls(call("a", "add", x=1))


async def run(
    model: ScriptedModel,
    host: MemoryHost,
    recorded: tuple[RecordedStep, ...] = (),
    *,
    steer: bool = True,
) -> TurnResult:
    """A turn with one tool."""
    limits = TurnLimits(8, 0, 1000.0)
    tools = (spec("add", x="number"),)
    request = LoopRequest("t1", PromptRecord(layers=()), (FIRST,), tools, limits, steer=steer)
    with time_limit():
        return await Loop(request, model, host, lambda: 0.0).run(recorded)


def kinds(messages: tuple[Message, ...]) -> list[type]:
    """Return the kinds of the messages in order."""
    return [type(message) for message in messages]


async def test_message_enters_after_the_results_of_the_step_in_hand() -> None:
    """The next model call sees it as the last message."""
    host, model = MemoryHost(), ScriptedModel(STEP, says("done"))
    host.waiting = [SECOND]
    await run(model, host)
    first, second = model.requests
    assert first.messages == (FIRST,)
    assert kinds(second.messages) == [UserMessage, AssistantMessage, ToolResult, UserMessage]
    assert second.messages[-1] == SECOND


async def test_nothing_enters_a_turn_that_is_not_to_be_steered() -> None:
    """The message waits for its own turn."""
    host, model = MemoryHost(), ScriptedModel(STEP, says("done"))
    host.waiting = [SECOND]
    await run(model, host, steer=False)
    assert host.waiting == [SECOND]


async def test_resumed_turn_sees_the_message_in_its_place() -> None:
    """Between the two steps where it arrived."""

    async def dies(request: ModelRequest) -> ModelResponse:
        raise ConnectionError(str(len(request.messages)))

    host = MemoryHost()
    host.waiting = [SECOND]
    with pytest.raises(ConnectionError, match="6"):
        await run(ScriptedModel(STEP, STEP, dies), host)
    recorded = host.recorded()
    after, model = host.resumed(recorded), ScriptedModel(says("done"))
    await run(model, after, recorded)
    (request,) = model.requests
    assert kinds(request.messages) == [
        UserMessage,
        AssistantMessage,
        ToolResult,
        UserMessage,
        AssistantMessage,
        ToolResult,
    ]
    assert request.messages[3] == SECOND
