"""Requests in the Responses format become tools, a choice, instructions and a conversation."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from orchestrator.extensions.http_api.responses_request import translate_request
from orchestrator.web.error_response import ApiProblem
from thinker.protocol.messages import (
    AssistantMessage,
    Image,
    JsonObject,
    ToolCall,
    ToolResult,
    UserMessage,
)

KEYS = st.sampled_from(
    (
        *("tools", "tool_choice", "input", "instructions", "type", "name", "function", "role"),
        *("content", "text", "image_url", "call_id", "arguments", "output", "parameters"),
    )
)
JSON: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
WORDS = st.sampled_from(("function", "message", "user", "system", "input_text", "function_call"))


@given(
    st.dictionaries(KEYS, JSON | WORDS | st.lists(st.dictionaries(KEYS, JSON | WORDS)), max_size=5)
)
def test_any_body_is_read_or_refused(body: JsonObject) -> None:
    """With our error, and no other."""
    with suppress(ApiProblem):
        translate_request(body)


def test_conversation_is_made_of_messages_calls_and_outputs() -> None:
    """In their order; what clients send back of reasoning is left out."""
    items: list[JsonValue] = [
        {"role": "user", "content": "add"},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a":1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "2"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "2"}]},
        {"type": "input_text", "text": "thanks"},
    ]
    assert translate_request({"input": items}).messages == (
        UserMessage(content="add"),
        AssistantMessage(tool_calls=(ToolCall(id="c1", name="add", arguments={"a": 1}),)),
        ToolResult(call_id="c1", name="add", content="2", origin="tool"),
        AssistantMessage(content="2"),
        UserMessage(content="thanks"),
    )


def test_arguments_that_are_no_object_stay_as_they_were() -> None:
    """The model shall see its own mistake."""
    for text in ("{", '{"a": ' + "[" * 100 + "]" * 100 + "}"):
        item: JsonObject = {"type": "function_call", "call_id": "c", "name": "add"}
        (message,) = translate_request({"input": [{**item, "arguments": text}]}).messages
        call = ToolCall(id="c", name="add", malformed=text)
        assert message == AssistantMessage(tool_calls=(call,))


def test_images_are_taken_from_the_request_and_never_fetched() -> None:
    """An address is only named to the model; the daemon never fetches it."""
    parts: list[JsonValue] = [
        {"type": "input_text", "text": "look"},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
        {"type": "input_image", "image_url": {"url": "http://host/a.png"}},
    ]
    (message,) = translate_request({"input": [{"role": "user", "content": parts}]}).messages
    assert message == UserMessage(
        content="look\n[image_url] http://host/a.png",
        images=(Image(media_type="image/png", data="AAAA"),),
    )


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"messages": []}, "messages"),
        ({"instructions": 5}, "instructions"),
        ({"input": 5}, "input"),
        ({"input": [5]}, "input[0]"),
        ({"input": [{"type": "bogus"}]}, "input[0]"),
        ({"input": [{"role": "tool", "content": "x"}]}, "input[0].role"),
        ({"input": [{"role": "user", "content": 5}]}, "input[0]"),
        ({"input": [{"role": "user", "content": [5]}]}, "input[0]"),
        ({"input": [{"role": "user", "content": [{"type": "audio"}]}]}, "input[0]"),
        ({"input": [{"type": "input_image"}]}, "input[0]"),
        ({"input": [{"type": "function_call_output"}]}, "input[0].call_id"),
        ({"tools": [{"name": "a"}], "tool_choice": {"type": "custom"}}, "tool_choice.type"),
        ({"tools": [{"name": "a"}], "tool_choice": {}}, "tool_choice.function.name"),
    ],
)
def test_what_is_wrong_is_named(body: JsonObject, param: str) -> None:
    """As OpenAI's clients expect an error."""
    with pytest.raises(ApiProblem) as caught:
        translate_request(body)
    assert caught.value.build_openai_document()["error"] == {
        "message": str(caught.value),
        "type": "invalid_request_error",
        "param": param,
        "code": "invalid_request_error",
    }
