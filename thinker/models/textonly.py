"""A request without tools: the last resort when a provider fails over tool calls."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import orjson

from thinker.models.base import ModelRequest
from thinker.protocol.messages import AUTO, AssistantMessage, Message, ToolResult, UserMessage


def text_only(request: ModelRequest) -> ModelRequest:
    """Return the request without tools, its earlier tool calls rewritten as text.

    Providers refuse tool calls in a transcript whose tools are not declared.
    """
    return replace(request, tools=(), tool_choice=AUTO, messages=tuple(_in_words(request.messages)))


def _in_words(messages: Iterable[Message]) -> Iterator[Message]:
    for message in messages:
        if isinstance(message, ToolResult):
            result = f"[Result of {message.name}]\n{message.content}"
            yield UserMessage(content=result, images=message.images)
        elif isinstance(message, AssistantMessage) and message.tool_calls:
            calls = (
                f"[Called {call.name} with {orjson.dumps(call.arguments).decode()}]"
                for call in message.tool_calls
            )
            text = [message.content] if message.content else []
            yield AssistantMessage(content="\n".join([*text, *calls]))
        else:
            yield message
