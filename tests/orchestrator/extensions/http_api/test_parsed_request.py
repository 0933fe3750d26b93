"""Bodies of requests: how they are parsed, and which are refused."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.extensions.http_api.parsed_request import (
    ParsedRequest,
    parse_chat,
    parse_messages,
    parse_responses,
)
from orchestrator.web.error_response import ApiProblem
from thinker.protocol.messages import AssistantMessage, Image, ToolResult, UserMessage

HELLO: Any = [{"role": "user", "content": "hello"}]
FIELDS = st.sampled_from(
    [
        *("model", "messages", "input", "role", "content", "type", "text", "tools", "tool_calls"),
        *("tool_call_id", "tool_choice", "function", "name", "arguments", "parameters", "id"),
        *("response_format", "json_schema", "schema", "format", "conversation", "stream", "n"),
        *("previous_response_id", "instructions", "call_id", "output", "image_url", "user"),
        *("system", "source", "data", "media_type", "input_schema", "tool_use_id", "output_config"),
        *("metadata", "user_id", "max_tokens", "is_error", "title"),
    ]
)
WORDS = st.sampled_from(
    [
        *("user", "assistant", "tool", "system", "function", "text", "message", "json_schema"),
        *("function_call", "function_call_output", "work", "auto", "required", "input_text", "\0"),
        *("tool_use", "tool_result", "image", "document", "base64", "url", "any", "thinking"),
    ]
)
JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(FIELDS | st.text(max_size=3), inner)
    ),
    max_leaves=20,
)


def attempt(read: Callable[[Any], ParsedRequest], body: Any) -> ParsedRequest | ApiProblem:
    """What becomes of a body."""
    try:
        return read(body)
    except ApiProblem as problem:
        return problem


@given(st.dictionaries(FIELDS, JSON), st.lists(st.dictionaries(FIELDS, JSON), max_size=4))
def test_any_body_is_read_or_refused(body: dict[str, Any], items: list[Any]) -> None:
    """Nothing but our own error comes out, and it is one of the client's."""
    for read in (parse_chat, parse_responses, parse_messages):
        whole = {**body, "model": "work", "messages": items, "input": items, "max_tokens": 9}
        for given_body in (body, whole):
            outcome = attempt(read, given_body)
            if isinstance(outcome, ApiProblem):
                assert outcome.status == 400
            else:
                assert outcome.body.messages


def test_chat_becomes_the_conversation_that_it_is() -> None:
    """An answer and its calls are one message; pictures are taken from data addresses alone."""
    picture: Any = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    call: Any = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    question = parse_chat(
        {
            "model": "work",
            "messages": [
                {"role": "developer", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "look"}, picture]},
                {"role": "assistant", "content": "well", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "x"}]},
            ],
        }
    )
    user, answer, result = question.body.messages
    assert question.body.asked.instructions == ("Be brief.",)
    assert user == UserMessage(content="look", images=(Image(media_type="image/png", data="aGk="),))
    assert isinstance(answer, AssistantMessage)
    assert (answer.content, answer.tool_calls[0].arguments) == ("well", {"a": 1})
    assert result == ToolResult(call_id="c1", name="f", content="x", origin="tool")
    assert not question.body.store


def test_tools_are_the_clients_to_run() -> None:
    """Always offered; one that says nothing of its parameters has none."""
    tools: Any = [{"type": "function", "function": {"name": "f", "strict": True}}]
    (tool,) = parse_chat({"model": "work", "messages": HELLO, "tools": tools}).body.tools
    assert (tool.handed_back, tool.always, tool.strict) == (True, True, True)
    assert tool.parameters == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"model": ""}, "model"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "system", "content": "only"}]}, "input"),
        ({"messages": [*HELLO, {"role": "user", "content": 5}]}, "messages[1]"),
        ({"messages": [*HELLO, {"role": "tool", "content": "x"}]}, "messages[1].call_id"),
        ({"messages": [{"role": "assistant", "tool_calls": 1}]}, "messages[0].tool_calls"),
        ({"tool_choice": "sometimes"}, "tool_choice"),
        ({"stream": "yes"}, "stream"),
        ({"response_format": {"type": "xml"}}, "response_format"),
        ({"response_format": {"type": "json_schema"}}, "response_format"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": 5}}}},
            "response_format",
        ),
        (
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"schema": {"anyOf": [{}] * 1000}},
                }
            },
            "response_format",
        ),
    ],
)
def test_what_is_wrong_is_named_as_the_client_wrote_it(fields: Any, param: str) -> None:
    """Messages by their own numbers."""
    with pytest.raises(ApiProblem) as refused:
        parse_chat({"model": "work", "messages": HELLO, **fields})
    assert refused.value.param == param


def test_response_goes_on_from_one_thing_alone() -> None:
    """A conversation by its name or as an object; another response by its id."""

    def read(**fields: Any) -> ParsedRequest:
        return parse_responses({"model": "work", "input": "hello", **fields})

    assert read(conversation={"id": "trip"}).conversation == "trip"
    assert read(previous_response_id="resp_1").previous_id == "1"
    assert read(previous_response_id="resp_").previous_id == ""  # no request has this id
    assert read().body.store
    assert not read(store=False).body.store
    with pytest.raises(ApiProblem):
        read(conversation="trip", previous_response_id="resp_1")


@pytest.mark.parametrize("conversation", [5, "", {}, {"id": 5}])
def test_wrong_conversation_is_named_by_its_field_alone(conversation: Any) -> None:
    """Names of the types that it could have are not the client's."""
    with pytest.raises(ApiProblem) as refused:
        parse_responses({"model": "work", "input": "hello", "conversation": conversation})
    assert refused.value.param in ("conversation", "conversation.id")
    assert str(refused.value).startswith(f"{refused.value.param}: ")


@pytest.mark.parametrize(
    ("parse", "fields", "effort"),
    [
        (parse_chat, {"reasoning_effort": "minimal"}, "low"),
        (parse_chat, {"reasoning_effort": "none"}, "off"),
        (parse_chat, {}, None),
        (parse_responses, {"reasoning": {"effort": "xhigh"}}, "high"),
        (parse_responses, {"reasoning": {"summary": "auto"}}, None),
        (parse_messages, {"thinking": {"type": "enabled", "budget_tokens": 2000}}, 2000),
        (parse_messages, {"thinking": {"type": "disabled"}}, "off"),
        (parse_messages, {"output_config": {"effort": "medium"}}, "medium"),
    ],
)
def test_effort_of_a_request_is_read_in_all_three_formats(
    parse: Callable[[Any], ParsedRequest], fields: Any, effort: Any
) -> None:
    """In one form for all models; without one the agent's counts."""
    said = {"input": "hello"} if parse is parse_responses else {"messages": HELLO}
    body = {"model": "work", "max_tokens": 9, **said, **fields}
    assert parse(body).body.asked.effort == effort


def test_unknown_effort_of_a_request_is_refused() -> None:
    """It would have no effect."""
    with pytest.raises(ApiProblem, match="unknown effort 'huge'; use one of none, minimal"):
        parse_chat({"model": "work", "messages": HELLO, "reasoning_effort": "huge"})
