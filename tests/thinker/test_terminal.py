"""A worker run by hand, without the process."""

import io

import anyio
import orjson
from fakes.scripted import ScriptedModel, call, calls, says, turn_run
from fakes.time_limit import time_limit
from pydantic import JsonValue

from thinker.agent import Agent
from thinker.models.base import ModelRequest, ModelResponse
from thinker.protocol.env import ThinkerSettings
from thinker.terminal import run_terminal
from thinker.worker_errors import FatalModelError


async def typed(text: str, model: ScriptedModel) -> str:
    """Return what a person sees after typing this and Ctrl-D."""
    out = io.StringIO()
    with time_limit():
        await run_terminal(Agent(ThinkerSettings(), model), io.StringIO(text), out)
    return out.getvalue()


def preview(call_id: JsonValue) -> str:
    """Return a frame that requests a prompt."""
    frame = {"id": call_id, "method": "prompt/preview", "params": turn_run().model_dump()}
    return orjson.dumps(frame).decode()


async def test_line_of_text_is_a_turn_and_the_conversation_goes_on() -> None:
    """Blank lines are skipped; earlier lines are history."""
    model = ScriptedModel(says("Hello."), says("You said hi."))
    assert await typed("hi\n\n  \nwhat did I say?", model) == "Hello.\nYou said hi.\n"
    texts = [message.content for message in model.requests[1].messages]
    assert texts == ["hi", "Hello.", "what did I say?"]


async def test_tool_call_by_hand_is_refused_for_the_model() -> None:
    """Tools belong to the supervisor; a model that calls one reads so."""
    model = ScriptedModel(calls(call("a", "add")), says("I have no tools."))
    assert await typed("add\n", model) == "I have no tools.\n"
    assert "no tool named 'add'" in model.requests[1].messages[-1].content


async def test_model_error_is_shown_with_its_reason() -> None:
    """A person who runs it by hand is the operator; the next line is a new try."""
    model = ScriptedModel(FatalModelError("set GROQ_API_KEY"), says("Hello."))
    shown = await typed("hi\nhi\n", model)
    assert "(set GROQ_API_KEY)" in shown
    assert shown.endswith("Hello.\n")


async def test_json_object_is_a_frame_and_mixes_with_text() -> None:
    """The last line may lack a newline."""
    shown = await typed(f"{preview(1)}\nhi\n{preview('b')}", ScriptedModel(says("Hello.")))
    first, text, last = shown.splitlines()
    assert text == "Hello."
    for line, call_id in ((first, 1), (last, "b")):
        frame = orjson.loads(line)
        assert frame["id"] == call_id
        assert frame["result"]["record"]["layers"][0]["name"] == "base"


async def test_line_that_only_looks_like_a_frame_is_answered_with_an_error() -> None:
    """And the next line is read."""
    shown = await typed('{"id": \nhi\n', ScriptedModel(says("Hello.")))
    first, text = shown.splitlines()
    assert orjson.loads(first)["error"]["code"] == -32700
    assert text == "Hello."


async def test_end_of_input_ends_requests_that_wait_for_an_answer() -> None:
    """No response can arrive, so the turn cannot continue."""
    asked = anyio.Event()

    async def answer(request: ModelRequest) -> ModelResponse:
        del request
        asked.set()
        return calls(call("a", "add"))

    frame = {"id": 1, "method": "turn/run", "params": turn_run().model_dump()}
    shown = await typed(orjson.dumps(frame).decode(), ScriptedModel(answer))
    assert asked.is_set()
    frames = [orjson.loads(line) for line in shown.splitlines()]
    assert [frame["method"] for frame in frames] == ["step/commit"]


async def test_nothing_typed_is_nothing_said() -> None:
    """Ctrl-D at once."""
    assert await typed("", ScriptedModel()) == ""
