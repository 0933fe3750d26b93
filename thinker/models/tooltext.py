"""Offer tools to a model natively, as text, or as text once it has refused them.

A model adapter uses its provider's tool calls. `TextTools` adds a text protocol to any adapter, so
that the loop treats both alike.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import orjson
import structlog

from thinker.jsontext import repaired
from thinker.models.base import Model, ModelRequest, ModelResponse, ModelWrapper, OnText
from thinker.models.call_arguments import tool_call
from thinker.models.failures import ToolsRefusedError, headline
from thinker.protocol.messages import AssistantMessage, ToolCall, ToolChoice, ToolSpec
from thinker.toolcalls.text.history_text import RESULTS, UNREADABLE, as_text
from thinker.toolcalls.text.inject import INTERNAL, block, developer_instructions
from thinker.toolcalls.text.parser import (
    CLOSE,
    OPEN,
    TextCallParser,
    TextDelta,
    TextToolCall,
    ToolCallProblem,
)
from thinker.toolcalls.text.payload import rules

ToolCalls = Literal["native", "text", "auto"]
THOUGHT = re.compile(r"\s*<think(?:ing)?>(.*?)</think(?:ing)?>", re.DOTALL)
log = structlog.get_logger()


def with_tools(model: Model, mode: ToolCalls) -> Model:
    """Return the model with its tools offered this way; ``auto`` is native until refused."""
    if mode == "native":
        return model
    return TextTools(model) if mode == "text" else AutoTools(model)


def tool_block(tools: Sequence[ToolSpec], choice: ToolChoice) -> str:
    """Return the text before the system prompt of a model that is offered tools as text."""
    if not tools:
        return ""
    names = {tool.name for tool in tools}
    internal = [name for name in INTERNAL if name not in names]  # unless offered
    return developer_instructions(block(tools, choice, internal=internal), RESULTS)


class TextTools(ModelWrapper):
    """A model that is offered its tools as text."""

    async def complete(self, request: ModelRequest) -> ModelResponse:
        instructions = tool_block(request.tools, request.tool_choice)
        calls = _parser(request) is not None  # a schema of the answer would forbid calls
        response = await self.model.complete(
            replace(
                request,
                system=developer_instructions(instructions, request.system),
                messages=as_text(request.messages),
                tools=(),
                output=None if calls else request.output,
                on_text=_without_calls(request),
            )
        )
        message = _read(request, response)
        return replace(response, message=message, tool_block=instructions)


@dataclass(eq=False)
class AutoTools(ModelWrapper):
    """A model that is offered tools natively, and as text once it has refused them."""

    _text: TextTools | None = field(default=None, init=False)

    async def complete(self, request: ModelRequest) -> ModelResponse:
        if self._text is None:
            try:
                return await self.model.complete(request)
            except ToolsRefusedError as error:
                log.warning("tool_calls_as_text", model=self.name, why=headline(error))
                self._text = TextTools(self.model)
        return await self._text.complete(request)


def _parser(request: ModelRequest) -> TextCallParser | None:
    """Return a parser for the answer; None if no call is allowed."""
    if not request.tools or request.tool_choice.mode == "none":
        return None
    return TextCallParser(rules(request.tools, request.tool_choice))


def _without_calls(request: ModelRequest) -> OnText | None:
    """Return an ``on_text`` that hides tool-call blocks from a streaming answer."""
    show, parser = request.on_text, _parser(request)
    if show is None or parser is None:
        return show
    seen = 0
    shown = ""

    def on_text(text: str) -> None:
        nonlocal seen, shown
        events = parser.feed(text[seen:])
        more = "".join(event.text for event in events if isinstance(event, TextDelta))
        seen = len(text)
        if more:
            shown += more
            show(shown)

    return on_text


def _read(request: ModelRequest, response: ModelResponse) -> AssistantMessage:
    """Return the answer with its blocks as tool calls."""
    message, parser = response.message, _parser(request)
    thought = THOUGHT.match(message.content)  # calls inside are only considered
    content = message.content[thought.end() :] if thought else message.content
    if parser is None or OPEN not in content:
        return message
    events = [*parser.feed(content), *parser.finish()]
    made = sum(len(m.tool_calls) for m in request.messages if isinstance(m, AssistantMessage))
    blocks = [
        event
        for event in events
        if isinstance(event, TextToolCall) or (isinstance(event, ToolCallProblem) and event.fatal)
    ]
    found = [_call(event, f"call_{made + number}") for number, event in enumerate(blocks, 1)]
    return AssistantMessage(
        content="".join(event.text for event in events if isinstance(event, TextDelta)).strip(),
        tool_calls=(*message.tool_calls, *found),
        reasoning=thought[1].strip() if thought else message.reasoning,
    )


def _call(event: TextToolCall | ToolCallProblem, call_id: str) -> ToolCall:
    """Return the call of a block; an unreadable block becomes a call that cannot run."""
    if isinstance(event, TextToolCall):
        return tool_call(call_id, event.name, event.arguments)
    if event.call is not None:
        return tool_call(call_id, event.call.name, event.call.arguments)
    if event.raw.endswith(CLOSE):  # a block cut in half must not be repaired and run
        payload = repaired(event.raw.removeprefix(OPEN).removesuffix(CLOSE)) or {}
        name, arguments = payload.get("name"), payload.get("arguments", {})
        if isinstance(name, str) and isinstance(arguments, str | dict):
            text = arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()
            return tool_call(call_id, name.strip(), text)
    return ToolCall(id=call_id, name=UNREADABLE, malformed=event.raw)
