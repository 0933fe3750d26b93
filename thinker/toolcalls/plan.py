"""Plan the tool calls of a model's response: which may run, with which arguments.

Where: are a tool call's arguments checked against its schema?
"""

from collections.abc import Mapping, Sequence

import orjson
import structlog

from thinker.protocol.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolChoice,
    ToolSpec,
    count_values,
)
from thinker.protocol.methods import PlannedCall
from thinker.toolcalls import arguments, leaked, markup, schema_validation
from thinker.toolcalls.quoting import has_untrusted_text

MAX_CALLS = 32  # in one response; a model that makes more is looping
MAX_ARGUMENTS = 256 * 1024  # bytes of one call's arguments as JSON
MAX_VALUES = 10_000  # of all calls of one response; reading them holds up the supervisor
log = structlog.get_logger()


def recover_calls(
    message: AssistantMessage, offered: Mapping[str, ToolSpec], read: Sequence[Message]
) -> AssistantMessage:
    """Return the message with calls that were written as text turned into tool calls.

    After untrusted text nothing is recovered: the model may only be repeating a call from it.
    ``read`` is the conversation before the message.
    """
    if message.tool_calls or has_untrusted_text(read):
        return message
    found = leaked.find_leaked_call(message.content, offered)
    calls = leaked.find_marked_calls(message, offered) if found is None else [found]
    if not calls:
        return message
    log.debug("leaked_tool_call_recovered", tool=calls[0].name)
    first, rest = f"leaked_{len(read)}", range(2, len(calls) + 1)
    ids = (first, *(f"{first}_{number}" for number in rest))
    made = tuple(
        ToolCall(id=call_id, name=call.name, arguments=call.arguments)
        for call_id, call in zip(ids, calls, strict=True)
    )
    text = markup.remove_markup(message.content)
    bare = found is not None or markup.BARE_CALLS.fullmatch(text)
    return message.model_copy(update={"content": "" if bare else text, "tool_calls": made})


def limit_values(message: AssistantMessage) -> AssistantMessage:
    """Return the message with calls beyond `MAX_VALUES` as the text of their arguments."""
    room, calls = MAX_VALUES, list(message.tool_calls)
    if sum(count_values(call.arguments) for call in calls) <= room:
        return message
    for number, call in enumerate(calls):
        size = count_values(call.arguments)
        if size <= room:
            room -= size
            continue
        text = orjson.dumps(call.arguments).decode()
        calls[number] = call.model_copy(update={"arguments": {}, "malformed": text})
    return message.model_copy(update={"tool_calls": tuple(calls)})


def plan_calls(
    calls: Sequence[ToolCall], tools: Mapping[str, ToolSpec], choice: ToolChoice, *, last: bool
) -> tuple[PlannedCall, ...]:
    """Return each call with coerced arguments, or with the reason why it cannot run.

    In the ``last`` step only handed-back calls are accepted, since no further step could read a
    result.
    """
    return tuple(
        _plan_call(call, tools.get(call.name), number, choice, last=last)
        for number, call in enumerate(calls)
    )


def _plan_call(
    call: ToolCall, tool: ToolSpec | None, number: int, choice: ToolChoice, *, last: bool
) -> PlannedCall:
    last = last and not (tool is not None and tool.handed_back)
    problem = _find_prohibition(call, number, choice, last=last) or _find_fault(call)
    if problem is None and tool is None:
        problem = f"there is no tool named {call.name!r}; use one of those offered"
    if problem is None and tool is not None:
        given, schema = call.arguments, tool.parameters
        coerced = given if tool.strict else arguments.coerce_arguments(given, schema)
        problem = schema_validation.check_against_schema(coerced, schema)
        if problem is None:
            return PlannedCall(id=call.id, name=call.name, arguments=coerced | tool.fixed)
    rejected = orjson.dumps({"error": problem}).decode()
    return PlannedCall(id=call.id, name=call.name, arguments={}, rejected=rejected)


def _find_prohibition(call: ToolCall, number: int, choice: ToolChoice, *, last: bool) -> str | None:
    if last:
        return "this was the turn's last step, so the call was not run; call again if need be"
    if number >= MAX_CALLS:
        return f"at most {MAX_CALLS} tool calls in one response; this one was not run"
    if choice.mode == "none":
        return "no tool may be called now; answer in plain text"
    if choice.mode == "function" and call.name != choice.name:
        return f"only {choice.name!r} may be called now; call it"
    return None


def _find_fault(call: ToolCall) -> str | None:
    if call.malformed is not None:
        return (
            "the call cannot be read; write it as valid JSON, its arguments as a JSON object, "
            f"with the key if the last message has one, with at most {MAX_VALUES} values"
        )
    if len(orjson.dumps(call.arguments)) > MAX_ARGUMENTS:
        return f"the arguments are longer than {MAX_ARGUMENTS} bytes; send less"
    return None
