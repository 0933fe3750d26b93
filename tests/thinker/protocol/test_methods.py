"""Parameters and results of the wire."""

import pytest
from fakes.scripted import call, spec, turn_run
from pydantic import BaseModel

from thinker.protocol.messages import AssistantMessage, LayerRecord, ToolResult
from thinker.protocol.methods import (
    PlannedCall,
    RecordedCall,
    RecordedStep,
    StepCommit,
    StopReason,
    TurnResult,
    TurnRun,
)
from thinker.protocol.prompt_record import PromptRecord

RESPONSE = AssistantMessage(tool_calls=(call("a", "add", x=1),))
RESULT = ToolResult(call_id="a", name="add", content="2")
STEP = RecordedStep(seq=1, response=RESPONSE, calls=(RecordedCall(seq=2, result=RESULT),))
PLANNED = PlannedCall(id="a", name="add", arguments={"x": 1})


@pytest.mark.parametrize(
    "frame",
    [
        turn_run("hi", spec("add", x="number"), steps=(STEP,), history=(RESPONSE, RESULT)),
        StepCommit(turn_id="t", response=RESPONSE, calls=(PLANNED,), finish="length"),
        TurnResult(text="2", stop_reason=StopReason.LENGTH, tools_used=("add",)),
    ],
)
def test_frame_comes_back_from_json_as_it_was(frame: BaseModel) -> None:
    """Tuples, enums and nested messages included."""
    assert type(frame).model_validate_json(frame.model_dump_json()) == frame


def test_frame_of_a_newer_version_is_understood() -> None:
    """Unknown fields are ignored, at every depth."""
    turn = turn_run("hi")
    newer = turn.model_dump() | {"mood": "good"}
    newer["chat"] |= {"color": "blue"}
    assert TurnRun.model_validate(newer) == turn


def test_prompt_is_its_layers_with_a_blank_line_between() -> None:
    """The text that the model saw, and the estimated tokens of each layer."""
    layers = (LayerRecord(name="base", text="You."), LayerRecord(name="chat", text="chat!"))
    assert PromptRecord(layers=layers).text == "You.\n\nchat!"
    assert [layer.tokens for layer in layers] == [1, 2]
