"""What came with an answer: how it is collected, stored and found again."""

import pytest

from thinker.models.came_with import (
    MAX_EXTRAS,
    CameWith,
    build_extras,
    find_call_extras,
    format_origin,
    list_returned,
)
from thinker.protocol.messages import (
    AssistantMessage,
    Extras,
    JsonObject,
    Message,
    ToolCall,
    ToolResult,
    UserMessage,
)

HERE = "deepseek@api.deepseek.com/deepseek-v4"
Q = UserMessage(content="q")


def answer(origin: str = HERE, *, called: bool = False, **fields: str) -> AssistantMessage:
    """An answer that came with fields."""
    calls = (ToolCall(id="1", name="look"),) if called else ()
    return AssistantMessage(
        content="a", tool_calls=calls, extras=Extras(origin=origin, fields={**fields})
    )


def test_dated_versions_of_a_model_have_one_origin() -> None:
    """Other versions have others."""
    origins = {
        format_origin("anthropic", "h", name)
        for name in ("claude-sonnet-4-5", "Claude-Sonnet-4-5-20250929", "claude-sonnet-4-5-latest")
    }
    assert len(origins) == 1
    assert format_origin("anthropic", "h", "claude-opus-4-5") not in origins
    assert format_origin("litellm", "h", "claude-sonnet-4-5") not in origins


def test_parts_of_a_stream_become_whole_fields() -> None:
    """Texts and lists grow, objects are completed, null says nothing."""
    came = CameWith()
    came.add_fields(
        {"role": "assistant", "opaque": "ab", "list": [1], "object": {}, "extra": {"a": 1}}
    )
    came.add_fields({"opaque": "cd", "list": [2], "extra": {"b": 2}, "nothing": None})
    assert came.build_fields() == {"opaque": "abcd", "list": [1, 2], "extra": {"a": 1, "b": 2}}


def test_words_of_the_reasoning_are_stored_once() -> None:
    """Null stands for them, and they are there again when they go back."""
    extras = build_extras(HERE, {"reasoning_content": "I look."}, "I look.")
    assert extras == Extras(origin=HERE, fields={"reasoning_content": None})
    message = AssistantMessage(content="a", reasoning="I look.", extras=extras)
    (_, fields) = list_returned((Q, message), HERE, "always")
    assert fields == {"reasoning_content": "I look."}


def test_too_long_extras_are_refused_as_a_whole() -> None:
    """Half a signature is worse than none; nothing at all is no extras."""
    with pytest.raises(ValueError, match="bytes"):
        build_extras(HERE, {"opaque": "x" * MAX_EXTRAS}, None)
    assert build_extras(HERE, {}, None) is None


@pytest.mark.parametrize(
    ("scope", "returned"),
    [
        ("always", [1, 3, 5, 7]),
        ("calls", [3, 5, 7]),
        ("turn", [7]),
        ("never", []),
    ],
)
def test_scope_says_with_which_messages_fields_go_back(scope: str, returned: list[int]) -> None:
    """A turn is from one message of the user to the next."""
    done = ToolResult(call_id="1", name="look", content="x")
    talk: tuple[Message, ...] = (
        *(Q, answer(r="1")),
        *(Q, answer(called=True, r="3"), done, answer(r="5")),
        *(Q, answer(called=True, r="7"), done),
    )
    found = list_returned(talk, HERE, scope)  # type: ignore[arg-type]
    assert [number for number, fields in enumerate(found) if fields] == returned


def test_fields_of_another_origin_stay_away() -> None:
    """Its messages are in scope, so that missing fields are filled in."""
    other = answer("openai@api.openai.com/gpt-5", called=True, encrypted="x")
    assert list_returned((Q, other), HERE, "calls") == [None, {}]


def test_calls_of_another_model_get_the_filler() -> None:
    """Of this model's parallel calls the first alone has a signature."""
    filler: JsonObject = {"extra_content": {"google": "skip"}}
    signed = ToolCall(id="1", name="a", extras={"extra_content": {"google": "sig"}})
    message = AssistantMessage(tool_calls=(signed, ToolCall(id="2", name="b")))
    own = message.model_copy(update={"extras": Extras(origin=HERE)})
    assert find_call_extras(own, HERE, filler) == [signed.extras, {}]
    assert find_call_extras(own, "another", filler) == [filler, filler]
    assert find_call_extras(message, HERE, filler) == [filler, filler]
