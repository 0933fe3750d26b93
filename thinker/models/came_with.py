"""Keep what a provider sent with an answer, and find what must go back to it.

Reasoning models refuse, or answer worse, if their signed or encrypted reasoning and the extra
fields of their calls do not come back as they were. Another model refuses what is not its own.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import orjson
from pydantic import JsonValue

from thinker.protocol.degradations import Degradation
from thinker.protocol.messages import (
    AssistantMessage,
    Extras,
    JsonObject,
    Message,
    UserMessage,
)
from thinker.protocol.providers import ReturnScope

MAX_EXTRAS = 262_144  # bytes kept with one answer; encrypted reasoning has tens of thousands
PLAIN = ("reasoning_content", "reasoning", "reasoning_text")  # fields with the words themselves
# Fields of answers that requests do not have, or that the history has in its own form.
OWN_FORM = frozenset(
    {"role", "content", "refusal", "tool_calls", "function_call", "name", "index", "id", "type"}
    | {"audio", "images", "annotations", "citations", "logprobs", "token_ids", "executed_tools"}
    | {"tool_call_id", "finish_reason", "stop_reason", "matched_stop", "model", "usage", "object"}
    | {"function"}
)
VERSION = re.compile(r"([-@:](\d{8}|\d{4}-\d{2}-\d{2}|latest|preview(-[\d-]+)?|exp|free))+$")


def format_origin(provider: str, host: str, model: str) -> str:
    """Return the origin of a model's answers; dated versions of a model have the same."""
    return f"{provider}@{host}/{VERSION.sub('', model.lower())}"


@dataclass
class CameWith:
    """Collects the extra fields of one message or call, whole or from the parts of a stream."""

    fields: JsonObject = field(default_factory=dict)
    _texts: dict[str, list[str]] = field(default_factory=dict)

    def add_text(self, name: str, text: str) -> None:
        """Append to a field of text."""
        self._texts.setdefault(name, []).append(text)

    def add_fields(self, found: Mapping[str, JsonValue]) -> None:
        """Add fields: texts and lists grow, objects are completed, other values replaced."""
        for name, value in found.items():
            if value is None or name in OWN_FORM:
                continue
            before = self.fields.get(name)
            if isinstance(value, str):
                self.add_text(name, value)
            elif isinstance(value, list) and isinstance(before, list):
                for item in value:
                    _add_item(before, item)
            elif isinstance(value, dict) and isinstance(before, dict):
                before.update(value)
            else:
                self.fields[name] = [*value] if isinstance(value, list) else value

    def build_fields(self) -> JsonObject:
        """Return the fields; texts that came twice under two names are kept once."""
        texts = {name: "".join(parts) for name, parts in self._texts.items()}
        seen: set[str] = set()
        for name in PLAIN:
            if name in texts and texts[name] in seen:
                del texts[name]
            seen.add(texts.get(name, ""))
        if self.fields.get("reasoning_details"):
            texts.pop("reasoning", None)  # the same words again
        return {**texts, **self.fields}


def build_extras(
    origin: str, fields: JsonObject, reasoning: str | None, calls: Sequence[JsonObject] = ()
) -> Extras | None:
    """Return what goes back with an answer and its calls; None if there is nothing.

    The words of ``reasoning`` are not stored twice: null stands for them.

    Raises:
        ValueError: the fields are longer than `MAX_EXTRAS`.
    """
    kept = {
        name: None if name in PLAIN and value == reasoning else value
        for name, value in fields.items()
    }
    if not kept and not any(calls):
        return None
    size = len(orjson.dumps((kept, calls)))
    if size > MAX_EXTRAS:
        raise ValueError(f"{size} bytes")
    return Extras(origin=origin, fields=kept)


def describe_long_extras(size: str) -> Degradation:
    """Return the note that what came with an answer is not kept."""
    what = f"what came with the answer is not kept, because it has {size}"
    return Degradation(kind="history", subject="reasoning", what=what)


def list_returned(
    messages: Sequence[Message], origin: str, scope: ReturnScope
) -> list[JsonObject | None]:
    """Return for each message the fields that go back with it; None for those out of scope.

    ``scope`` is of the turns that made calls ("calls"), of the newest turn if it made some
    ("turn"), of all turns ("always") or of none ("never"). A turn begins with a user's message.
    """
    found: list[JsonObject | None] = [None] * len(messages)
    turn: list[int] = []  # positions of the answers of a turn
    called = False
    for number, message in enumerate((*messages, UserMessage(content=""))):
        if isinstance(message, AssistantMessage):
            turn.append(number)
            called = called or bool(message.tool_calls)
        elif isinstance(message, UserMessage):
            newest = number == len(messages)
            if scope == "always" or (called and (scope == "calls" or (newest and scope == "turn"))):
                for place in turn:
                    found[place] = _read_fields(messages[place], origin)
            turn, called = [], False
    return found


def _read_fields(message: Message, origin: str) -> JsonObject:
    if not isinstance(message, AssistantMessage) or message.extras is None:
        return {}
    if message.extras.origin != origin:
        return {}
    return {
        name: (message.reasoning or "") if name in PLAIN and value is None else value
        for name, value in message.extras.fields.items()
    }


def find_call_extras(
    message: AssistantMessage, origin: str, filler: Mapping[str, JsonValue]
) -> list[JsonObject]:
    """Return the extra fields of each call; ``filler`` where another model made the calls.

    Of parallel calls only the first may have come with a signature.
    """
    own = message.extras is not None and message.extras.origin == origin
    if own and any(call.extras for call in message.tool_calls):
        return [call.extras for call in message.tool_calls]
    return [{**filler} for _ in message.tool_calls]


def has_extras(messages: Sequence[Message]) -> bool:
    """Return whether any message came with extra fields."""
    answers = (message for message in messages if isinstance(message, AssistantMessage))
    return any(one.extras or any(call.extras for call in one.tool_calls) for one in answers)


def _add_item(items: list[JsonValue], item: JsonValue) -> None:
    """Append an item of a streamed list; the next part of the last item is joined with it."""
    last = items[-1] if items else None
    if (
        not isinstance(last, dict)
        or not isinstance(item, dict)
        or any(last.get(key) != item.get(key) for key in ("type", "index"))
        or "index" not in item
    ):
        items.append(item)
        return
    for key, value in item.items():
        text = last.get(key)
        if key in ("text", "summary", "data") and isinstance(text, str) and isinstance(value, str):
            last[key] = text + value
        elif value is not None:
            last[key] = value
