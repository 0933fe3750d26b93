"""Reasoning settings in the format of the Messages API."""

from typing import Any

import pytest

from orchestrator.extensions.anthropic.worker import anthropic_messages as anthropic
from thinker.models.base import ModelRequest
from thinker.models.failures import Account
from thinker.protocol.messages import (
    AssistantMessage,
    Message,
    Reasoning,
    ToolCall,
    ToolChoice,
    ToolResult,
    UserMessage,
)
from thinker.protocol.providers import PROVIDERS

HELLO = UserMessage(content="hello")


CALLED: tuple[Message, ...] = (
    HELLO,
    AssistantMessage(tool_calls=(ToolCall(id="1", name="look"),), reasoning="I should look."),
    ToolResult(call_id="1", name="look", content="seen"),
)


def claude(reasoning: Reasoning, *messages: Message, **fields: Any) -> dict[str, Any]:
    """Return the body for Anthropic."""
    given = {"messages": messages or (HELLO,), "temperature": 0.4, **fields}
    return anthropic.build_request_body(
        Account(PROVIDERS["anthropic"], "m"),
        ModelRequest(system="", reasoning=reasoning, **given),
    )


@pytest.mark.parametrize(
    ("reasoning", "budget"),
    [
        (Reasoning(effort="low"), 2048),
        (Reasoning(effort="medium"), 8192),
        (Reasoning(effort="high"), 16384),
        (Reasoning(effort="low", max_tokens=5000), 5000),
        (Reasoning(max_tokens=10), 1024),
    ],
)
def test_anthropic_gets_a_number_of_tokens_beside_the_answers(
    reasoning: Reasoning, budget: int
) -> None:
    """Thinking excludes a temperature."""
    body = claude(reasoning)
    assert body["thinking"] == {"type": "enabled", "budget_tokens": budget}
    assert body["max_tokens"] == budget + 8192
    assert "temperature" not in body


def test_anthropic_is_not_asked_to_think_where_it_would_refuse() -> None:
    """After a tool result, with a forced call, and without a stated amount."""
    must = ToolChoice(mode="required")
    for body in (
        claude(Reasoning(effort="low"), *CALLED),
        claude(Reasoning(effort="low"), tool_choice=must),
        claude(Reasoning(include=True)),
    ):
        assert "thinking" not in body
        assert body["temperature"] == 0.4
