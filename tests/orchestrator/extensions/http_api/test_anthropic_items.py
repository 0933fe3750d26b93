"""Requests in Anthropic's format become those that agents take."""

from typing import Any

import pytest

from orchestrator.extensions.http_api.anthropic_items import (
    build_function_choice,
    build_message_items,
    parse_system_text,
)
from orchestrator.extensions.http_api.parsed_request import parse_messages
from orchestrator.web.error_response import ApiProblem
from thinker.protocol.messages import AssistantMessage, Image, ToolCall, ToolResult, UserMessage

BODY: dict[str, Any] = {"model": "work", "max_tokens": 9}


def said(*messages: Any, **fields: Any) -> Any:
    """The request of these messages, as an agent takes it."""
    return parse_messages({**BODY, "messages": list(messages), **fields}).body


def test_conversation_keeps_its_order_of_texts_calls_and_results() -> None:
    """What stands after a result is the user's; thoughts belong to the provider."""
    call = {"type": "tool_use", "id": "c", "name": "look", "input": {"at": "sea"}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": [text("blue"), text("wide")]}
    picture = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    found = said(
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": [{"type": "thinking"}, text("I look."), call]},
        {"role": "user", "content": [result, text("and?"), {"type": "image", "source": picture}]},
    )
    assert found.messages == (
        UserMessage(content="look"),
        AssistantMessage(
            content="I look.", tool_calls=(ToolCall(id="c", name="look", arguments={"at": "sea"}),)
        ),
        ToolResult(call_id="c", name="look", content="blue\nwide", origin="tool"),
        UserMessage(content="and?", images=(Image(media_type="image/png", data="AAAA"),)),
    )


def text(words: str) -> Any:
    """A block of text."""
    return {"type": "text", "text": words}


def test_fields_mean_what_they_mean_at_anthropic() -> None:
    """The system prompt, whom it is for, one call at a time, any tool or this one."""
    tool: Any = {"name": "look", "input_schema": {"type": "object"}, "type": "custom"}
    user: Any = {"role": "user", "content": "x"}
    parsed = parse_messages(
        {
            **BODY,
            "messages": [user, {"role": "system", "content": "c"}],
            "system": [text("a"), text("b")],
            "metadata": {"user_id": "ann"},
            "tools": [tool],
            "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
        }
    )
    asked = parsed.body.asked
    assert asked.instructions == ("a\n\nb", "c")
    assert (asked.one_call, asked.max_output_tokens, parsed.fields.user) == (True, 9, "ann")
    assert parsed.body.tool_choice.mode == "required"
    assert build_function_choice({"type": "tool", "name": "look"}) == {
        "type": "function",
        "name": "look",
    }
    assert (build_function_choice({"type": "none"}), build_function_choice(None)) == ("none", None)
    assert said(user).asked.one_call is False


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": ["x"]}]}, "messages[0].content[0]"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image"}]}]},
            "messages[0].content[0]",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]},
            "messages[0].content[0]",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "tool_result"}]}]},
            "messages[0].call_id",
        ),
        ({"messages": []}, "messages"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"system": 5}, "system"),
        ({"system": [{"type": "image"}]}, "system[0]"),
        ({"tools": {}}, "tools"),
        ({"tools": [5]}, "tools[0]"),
        ({"mcp_servers": [{}]}, "mcp_servers"),
        ({"output_config": {"format": {"type": "x"}}}, "output_config.format"),
    ],
)
def test_request_that_no_agent_can_take_names_its_fault(fields: Any, param: str) -> None:
    """By the place that the client knows."""
    body = {**BODY, "messages": [{"role": "user", "content": "x"}], **fields}
    with pytest.raises(ApiProblem) as refused:
        parse_messages(body)
    assert refused.value.param == param


def test_texts_of_documents_are_told_with_their_titles() -> None:
    """Pictures by address are named, as nothing is fetched for a client."""
    source = {"type": "text", "media_type": "text/plain", "data": "tea"}
    document = {"type": "document", "title": "Prices", "source": source}
    far = {"type": "image", "source": {"type": "url", "url": "https://x.y/z.png"}}
    (message,) = said({"role": "user", "content": [document, far]}).messages
    assert message.content == "Prices:\ntea\n[image_url] https://x.y/z.png"
    assert parse_system_text(None) is None
    assert build_message_items([]) == ([], [])
