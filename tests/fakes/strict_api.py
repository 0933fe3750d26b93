"""Servers with OpenAI's API that refuse what some providers refuse, in their own words."""

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from fakes.model_api import Reply
from fakes.openai_api import OpenAIApi

Refusal: TypeAlias = str | None
NINE = re.compile(r"[a-zA-Z0-9]{9}")


class StrictApi(OpenAIApi):
    """Refuses as ``refuses`` says, with this status, otherwise answers as the fake does."""

    def __init__(
        self,
        refuses: Callable[[dict[str, Any]], Refusal],
        reply: Callable[[dict[str, Any]], Reply] | None = None,
        status: int = 400,
    ) -> None:
        answer = reply or self.echo

        def strict(body: dict[str, Any]) -> Reply:
            refusal = refuses(body)
            return Reply(refusal, status=status) if refusal else answer(body)

        super().__init__(strict)


def calls(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every tool call of the history."""
    for message in body["messages"]:
        yield from message.get("tool_calls", ())


def mistral(body: dict[str, Any]) -> Refusal:
    """Unknown fields, other names of a forced call, and ids of another form."""
    if "stream_options" in body or "reasoning_effort" in body:
        return "[{'type': 'extra_forbidden', 'msg': 'Extra inputs are not permitted'}]"
    if body.get("tool_choice", "auto") not in ("auto", "any", "none"):
        return "Input should be 'auto', 'none' or 'any'"
    ids = [call["id"] for call in calls(body)]
    ids += [message["tool_call_id"] for message in body["messages"] if message["role"] == "tool"]
    wrong = [found for found in ids if not NINE.fullmatch(found)]
    if wrong:
        return f"Tool call id was {wrong[0]} but must be a-z, A-Z, 0-9, with a length of 9."
    return None


def gemini(body: dict[str, Any]) -> Refusal:
    """Keywords of schemas, and calls without a signature."""
    for tool in body.get("tools", ()):
        if "additionalProperties" in tool["function"]["parameters"]:
            return 'Invalid JSON payload received. Unknown name "additionalProperties"'
    for call in calls(body):
        extra: dict[str, Any] = call.get("extra_content", {})
        if not extra.get("google", {}).get("thought_signature"):
            return "Function call is missing a thought_signature in functionCall parts."
    return None


def deepseek(body: dict[str, Any]) -> Refusal:
    """Schemas of answers."""
    if body.get("response_format", {}).get("type") == "json_schema":
        return "This response_format type is unavailable now"
    return None


def zai(body: dict[str, Any]) -> Refusal:
    """Every choice of tools but its own."""
    return None if body.get("tool_choice", "auto") == "auto" else "only auto is supported"


def cohere(body: dict[str, Any]) -> Refusal:
    """The usual choice of tools by its name."""
    return "invalid tool_choice: auto" if body.get("tool_choice") == "auto" else None


def toolless(body: dict[str, Any]) -> Refusal:
    """Tools."""
    return "tools are refused here" if "tools" in body else None


def unlike(*fields: str) -> Callable[[dict[str, Any]], Refusal]:
    """Return a refusal of the first of these fields, in OpenAI's words."""

    def refuses(body: dict[str, Any]) -> Refusal:
        found = next((field for field in fields if field in body), None)
        return found and f"Unsupported parameter: '{found}' is not supported with this model."

    return refuses
