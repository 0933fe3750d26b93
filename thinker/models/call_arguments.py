"""Turn the tool-call arguments and ids that models write into valid ones."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

import orjson

from thinker.history import make_unique_id
from thinker.jsontext import RepairBudget, parse_values, repair_json_object
from thinker.models.came_with import CameWith
from thinker.models.streaming import TextBuffer
from thinker.protocol.loose_json import get_list, get_object, get_text
from thinker.protocol.messages import JsonObject, ToolCall, is_too_deep
from thinker.toolcalls.dialects import clean_tool_name

PARALLEL = "multi_tool_use.parallel"  # OpenAI's wrapper of several calls, which models leak

MAX_NAME = 64  # characters of a name or an id
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass
class OpenCall:
    """A tool call that is still being streamed; ``index`` is its position in the answer."""

    index: int
    id: str = ""
    name: str = ""
    arguments: TextBuffer = field(default_factory=TextBuffer)
    came: CameWith | None = None


def build_finished_calls(calls: Iterable[OpenCall], *, whole: bool) -> tuple[ToolCall, ...]:
    """Return the calls in order, with distinct ids.

    ``whole`` is False if the provider cut the answer at its output limit: truncated arguments must
    not be repaired into valid ones and run.
    """
    ordered = sorted(calls, key=lambda call: call.index)
    named = [(call, *one) for call in ordered for one in _unfold_call(call)]
    ids = make_ids_unique(call_id for _, call_id, *_ in named)
    budget = RepairBudget()
    return tuple(
        build_tool_call(call_id, name, text, budget if whole else None).model_copy(
            update={"extras": call.came.build_fields()} if call.came else None
        )
        for call_id, (call, _, name, text) in zip(ids, named, strict=True)
    )


def encode_arguments(value: object) -> str:
    """Return arguments as JSON text; some servers send them as an object."""
    if isinstance(value, str):
        return value
    return orjson.dumps(value).decode() if isinstance(value, dict | list) else ""


def is_whole_object(text: str) -> bool:
    return _parse_arguments(text) is not None


def _unfold_call(call: OpenCall) -> Iterator[tuple[str, str, str]]:
    """Yield the id, name and arguments of a call, or of the calls that it wraps."""
    text = call.arguments.text
    uses = get_list(_parse_arguments(text), "tool_uses") if call.name == PARALLEL else []
    if not uses:
        yield call.id, clean_tool_name(call.name), text
    for use in uses:
        if isinstance(use, dict) and get_text(use, "recipient_name"):
            parameters = encode_arguments(get_object(use, "parameters"))
            yield "", clean_tool_name(get_text(use, "recipient_name")), parameters


def build_tool_call(call_id: str, name: str, text: str, budget: RepairBudget | None) -> ToolCall:
    """Build a call from its argument text, repairing the JSON if necessary.

    ``budget`` limits the repairs of all calls of one answer; None forbids repairs.
    """
    arguments = _parse_arguments(text) if text.strip() else {}
    broken = arguments is None
    if broken and budget is not None:
        arguments = repair_json_object(text, budget)
    if arguments is None or is_too_deep(arguments):
        return ToolCall(id=call_id, name=name, malformed=text)
    return ToolCall(id=call_id, name=name, arguments=arguments, repaired=broken)


def adapt_name(name: str) -> str:
    """Return the name or id of a call as all providers take it."""
    return name if NAME.fullmatch(name) else FOREIGN.sub("_", name)[:MAX_NAME] or "unknown"


def make_ids_unique(ids: Iterable[str], used: Collection[str] = ()) -> list[str]:
    """Make the ids of one response distinct from each other and from ``used``.

    A missing id becomes ``call_`` and its position; a repeated one gets a number.
    """
    taken = set(used)
    return [make_unique_id(call_id or f"call_{index}", taken) for index, call_id in enumerate(ids)]


def _parse_arguments(text: str) -> JsonObject | None:
    try:
        value = orjson.loads(text)
        if isinstance(value, str):  # some models encode the object twice
            value = orjson.loads(value) if value.strip() else None
    except ValueError:
        return _parse_repeated(text)
    if value is None:
        return {}
    return value if isinstance(value, dict) else None


def _parse_repeated(text: str) -> JsonObject | None:
    """Return arguments that follow an empty object, or that were sent twice."""
    try:
        values = parse_values(text)
        found = orjson.loads(orjson.dumps(next(filter(None, values), {})))
    except (ValueError, orjson.JSONEncodeError):
        return None
    same = len(values) > 1 and all(not value or value == found for value in values)
    return found if isinstance(found, dict) and same else None
