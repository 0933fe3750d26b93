"""Offer tools to a model as text.

A model adapter uses its provider's tool calls. `TextTools` adds a text protocol to any adapter, so
that the loop treats both alike.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import orjson

from orchestrator.extensions.text_tool_calls.worker.compact import (
    format_compact_block,
    format_compact_call,
)
from orchestrator.extensions.text_tool_calls.worker.history_text import (
    RESULTS,
    UNREADABLE,
    rewrite_as_text,
)
from orchestrator.extensions.text_tool_calls.worker.inject import (
    INTERNAL,
    format_call_block,
    format_opening_tag,
    format_tool_call,
    join_instructions,
)
from orchestrator.extensions.text_tool_calls.worker.parser import (
    CLOSE,
    Event,
    TextCallParser,
    TextDelta,
    TextToolCall,
    ToolCallProblem,
)
from orchestrator.extensions.text_tool_calls.worker.payload import build_parser_rules
from thinker.jsontext import RepairBudget, repair_json_object
from thinker.models.base import (
    ModelRequest,
    ModelResponse,
    ModelWrapper,
    OnText,
    RehearsedRequest,
)
from thinker.models.call_arguments import build_tool_call
from thinker.protocol.messages import AssistantMessage, ToolCall, ToolChoice, ToolResult, ToolSpec
from thinker.toolcalls.dialects import clean_tool_name, read_calls
from thinker.toolcalls.quoting import Quotation

BEGUN = "<tool_call"
THOUGHT = re.compile(r"\s*<think(?:ing)?>(.*?)</think(?:ing)?>", re.DOTALL)


def format_tool_block(tools: Sequence[ToolSpec], choice: ToolChoice, *, full: bool = False) -> str:
    """Return the text that goes before the system prompt to offer tools as text."""
    if not full or not tools:
        return format_compact_block(tools, choice)
    names = {tool.name for tool in tools}
    internal = [name for name in INTERNAL if name not in names]  # unless offered
    return join_instructions(format_call_block(tools, choice, internal=internal), RESULTS)


@dataclass(eq=False)
class TextTools(ModelWrapper):
    """A model that is offered its tools as text; ``full``: with schemas, and quoted arguments."""

    full: bool = False

    async def complete(self, request: ModelRequest) -> ModelResponse:
        instructions = format_tool_block(request.tools, request.tool_choice, full=self.full)
        calls = _can_call_tools(request)  # a schema of the answer would forbid calls
        write_call = format_tool_call if self.full else format_compact_call
        history = rewrite_as_text(request.messages, write_call)
        asked = replace(
            request,
            system=join_instructions(instructions, request.system),
            messages=history.messages,
            tools=(),
            output=None if calls else request.output,
            on_text=_hide_call_blocks(request, history.key),
        )
        try:
            response = await self.model.complete(asked)
        except RehearsedRequest as sent:
            raise RehearsedRequest(sent.body, instructions) from None
        message = _parse_response(request, response, history.key)
        return replace(response, message=message, tool_block=instructions)


def _can_call_tools(request: ModelRequest) -> bool:
    return bool(request.tools) and request.tool_choice.mode != "none"


def _build_parser(request: ModelRequest, key: str) -> TextCallParser:
    """Return a parser of answers whose calls must carry this key, if any."""
    limits = build_parser_rules(request.tools, request.tool_choice, plain=True)
    return TextCallParser(limits, format_opening_tag(key), Quotation())


def _hide_call_blocks(request: ModelRequest, key: str) -> OnText | None:
    """Return an ``on_text`` that hides tool-call blocks from a streaming answer."""
    show = request.on_text
    if show is None or not _can_call_tools(request):
        return show
    parsers = [_build_parser(request, tag) for tag in dict.fromkeys((key, ""))]
    seen = 0
    shown = ""

    def on_text(text: str) -> None:
        nonlocal seen, shown
        more = text[seen:]
        for parser in parsers:
            more = _join_text(parser.feed(more))
        seen = len(text)
        if more:
            shown += more
            show(shown)

    return on_text


def _parse_response(request: ModelRequest, response: ModelResponse, key: str) -> AssistantMessage:
    """Return the answer with its blocks as tool calls."""
    message = response.message
    thought = THOUGHT.match(message.content)  # calls inside are only considered
    content = message.content[thought.end() :] if thought else message.content
    if not _can_call_tools(request) or BEGUN not in content:
        return message
    events = _parse_events(_build_parser(request, key), content)
    blocks = [
        event
        for event in events
        if isinstance(event, TextToolCall) or (isinstance(event, ToolCallProblem) and event.fatal)
    ]
    made = sum(len(m.tool_calls) for m in request.messages if isinstance(m, AssistantMessage))
    budget = RepairBudget()
    found = [
        _build_call(event, f"call_{made + number}", budget)
        for number, event in enumerate(blocks, 1)
    ]
    text = _join_text(events).strip()
    if key and not found and _is_missing_key(request, text):
        found = [ToolCall(id=f"call_{made + 1}", name=UNREADABLE, malformed=text)]
        text = ""
    changes = {"content": text, "tool_calls": (*message.tool_calls, *found)}
    thoughts = {"reasoning": thought[1].strip()} if thought else {}
    return message.model_copy(update=changes | thoughts)


def _is_missing_key(request: ModelRequest, text: str) -> bool:
    """Return whether an answer is only blocks without the key, for the first time in a row.

    The model may have forgotten the key, so it is told once that nothing was run.
    """
    last = request.messages[-1]
    if isinstance(last, ToolResult) and last.name == UNREADABLE:
        return False
    return not _join_text(_parse_events(_build_parser(request, ""), text)).strip()


def _parse_events(parser: TextCallParser, text: str) -> list[Event]:
    return [*parser.feed(text), *parser.finish()]


def _join_text(events: Iterable[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def _build_call(
    event: TextToolCall | ToolCallProblem, call_id: str, budget: RepairBudget
) -> ToolCall:
    """Return the call of a block; an unreadable block becomes a call that cannot run."""
    if isinstance(event, TextToolCall):
        return build_tool_call(call_id, event.name, event.arguments, budget)
    if event.call is not None:
        return build_tool_call(call_id, event.call.name, event.call.arguments, budget)
    if event.raw.endswith(CLOSE):  # a block cut in half must not be repaired and run
        for written in read_calls(event.raw):  # in the dialect of the model
            text = orjson.dumps(written.arguments).decode()
            return build_tool_call(call_id, clean_tool_name(written.name), text, None)
        payload = repair_json_object(event.raw.partition(">")[2].removesuffix(CLOSE), budget) or {}
        name, arguments = payload.get("name"), payload.get("arguments", {})
        if isinstance(name, str) and isinstance(arguments, str | dict):
            text = arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()
            return build_tool_call(call_id, name.strip(), text, budget)
    return ToolCall(id=call_id, name=UNREADABLE, malformed=event.raw)
