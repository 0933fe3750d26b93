"""Reasoning settings in each provider's format."""

from typing import Any

from thinker.models import openai_chat
from thinker.models.base import ModelRequest
from thinker.models.failures import Account
from thinker.protocol.messages import (
    AssistantMessage,
    Message,
    Reasoning,
    ToolCall,
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


def openai(provider: str, reasoning: Reasoning, *messages: Message) -> dict[str, Any]:
    """Return the body for a provider with OpenAI's format."""
    request = ModelRequest(system="", messages=messages or (HELLO,), reasoning=reasoning)
    return openai_chat.build_request_body(Account(PROVIDERS[provider], "m", ""), request)


def test_effort_is_named_where_it_has_a_name() -> None:
    """OpenAI's format has a word, also for a budget; OpenRouter an object with a number."""
    assert openai("openai", Reasoning(effort="low"))["reasoning_effort"] == "low"
    assert openai("groq", Reasoning(max_tokens=500))["reasoning_effort"] == "low"
    assert openai("openrouter", Reasoning(effort="high"))["reasoning"] == {
        "effort": "high",
        "exclude": False,
    }
    reasoning = Reasoning(effort="high", max_tokens=500, exclude=True)
    assert openai("openrouter", reasoning)["reasoning"] == {"max_tokens": 500, "exclude": True}
    assert "reasoning" not in openai("openrouter", Reasoning(include=True))


def test_thoughts_go_back_only_when_history_includes_them() -> None:
    """Only a definition can include earlier reasoning."""
    messages = openai("groq", Reasoning(include=True), *CALLED)["messages"]
    assert messages[1]["reasoning_content"] == "I should look."
    assert "reasoning_content" not in messages[0]
    silent = openai("groq", Reasoning(effort="low"), *CALLED)["messages"]
    assert "reasoning_content" not in silent[1]
