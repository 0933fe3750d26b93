"""Arguments that models write become an object or are marked as malformed."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinker.jsontext import REPAIR_LIMIT, RepairBudget
from thinker.models.call_arguments import (
    OpenCall,
    build_finished_calls,
    build_tool_call,
    make_ids_unique,
)
from thinker.protocol.messages import AssistantMessage, JsonObject


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        ("  \n", {}),
        ("null", {}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ("{'a': 1}", {"a": 1}),
        ('{"a": 1', {"a": 1}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('{"a": "x\u2028y"}', {"a": "x\u2028y"}),
    ],
)
def test_readable_and_repairable_arguments_are_objects(text: str, arguments: JsonObject) -> None:
    """JSON is parsed; quotes, fences and missing ends are repaired."""
    assert build_tool_call("1", "t", text, RepairBudget()).arguments == arguments
    assert build_tool_call("1", "t", text, RepairBudget()).malformed is None


@pytest.mark.parametrize("text", ["get the time", "[1]", "5", "{", '{"a": "\\ud800"}'])
def test_what_is_no_object_is_kept_as_malformed(text: str) -> None:
    """The text stays for the error to the model; no call runs with invented arguments."""
    call = build_tool_call("1", "t", text, RepairBudget())
    assert call.arguments == {}
    assert call.malformed == text


def test_arguments_that_could_not_be_read_back_are_malformed() -> None:
    """A journal that stores a step must be able to read it."""
    for levels, usable in ((60, True), (64, False), (1000, False)):
        text = '{"a": ' + "[" * levels + "]" * levels + "}"
        call = build_tool_call("1", "t", text, RepairBudget())
        assert (call.malformed is None) is usable
        message = AssistantMessage(tool_calls=(call,))
        assert AssistantMessage.model_validate_json(message.model_dump_json()) == message


def test_arguments_of_a_cut_answer_are_not_repaired() -> None:
    """Half a message must not be sent as if it were whole."""
    call = build_tool_call("1", "send", '{"text": "I owe you 10', None)
    assert call.malformed == '{"text": "I owe you 10'


def test_very_long_garbage_is_not_repaired() -> None:
    """Repair is slow on long text."""
    text = "{'a': '" + "b" * REPAIR_LIMIT + "'}"
    assert build_tool_call("1", "t", text, RepairBudget()).malformed == text


def test_long_arguments_with_line_breaks_are_read() -> None:
    """A model that writes a file forgets to escape them, and nothing else is wrong."""
    lines = "a line of the file\n" * REPAIR_LIMIT
    call = build_tool_call("1", "write_file", f'{{"text": "{lines}"}}', RepairBudget())
    assert call.arguments == {"text": lines}
    assert call.repaired


def test_calls_of_one_answer_share_the_effort_of_repair() -> None:
    """Many broken calls cost no more than one; those that come later are told to the model."""
    calls = [OpenCall(index) for index in range(8)]
    for call in calls:
        call.arguments.add("{'a': '" + "b" * (REPAIR_LIMIT // 2) + "'}")
    made = build_finished_calls(calls, whole=True)
    assert made[0].malformed is None
    assert made[-1].malformed is not None


@given(st.text(alphabet='{}[]",:\\u0ad \u2028'))
def test_any_text_gives_a_call_that_the_wire_can_carry(text: str) -> None:
    """No text raises, and every call can be sent."""
    orjson.dumps(build_tool_call("1", "t", text, RepairBudget()).model_dump())


def test_missing_ids_are_made_and_repeated_ids_differ() -> None:
    """Ids are deterministic, so a recorded response reads the same again."""
    assert make_ids_unique(["", "x", "x", ""]) == ["call_0", "x", "x_2", "call_3"]
    assert make_ids_unique(["x"], used={"x", "x_2"}) == ["x_3"]
    assert make_ids_unique(["call_1", ""]) == ["call_1", "call_1_2"]
