"""What models write as tool-call arguments and ids, made into what the journal takes."""

from collections.abc import Collection, Iterable

import orjson

from thinker.jsontext import mended
from thinker.protocol.messages import JsonObject, ToolCall, too_deep


def tool_call(call_id: str, name: str, text: str, *, whole: bool = True) -> ToolCall:
    """A call from its argument text.

    ``whole`` is false when the provider cut the answer at its output limit: half an argument
    that was mended into a valid one must not run.
    """
    arguments = _parsed(text) if text.strip() else {}
    if arguments is None and whole:
        arguments = mended(text)
    if arguments is None or too_deep(arguments):
        return ToolCall(id=call_id, name=name, malformed=text)
    return ToolCall(id=call_id, name=name, arguments=arguments)


def unique_ids(ids: Iterable[str], used: Collection[str] = ()) -> list[str]:
    """The ids of one response, all different and none of them in ``used``.

    A missing one becomes ``call_`` and its position, a repeated one gets a number.
    """
    taken = set(used)
    unique = []
    for index, given in enumerate(ids):
        base = candidate = given or f"call_{index}"
        copy = 2
        while candidate in taken:
            candidate = f"{base}_{copy}"
            copy += 1
        taken.add(candidate)
        unique.append(candidate)
    return unique


def _parsed(text: str) -> JsonObject | None:
    try:
        value = orjson.loads(text)
        if isinstance(value, str):  # some models quote the object once more
            value = orjson.loads(value) if value.strip() else None
    except ValueError:
        return None
    if value is None:
        return {}
    return value if isinstance(value, dict) else None
