"""Prepare the session for a model: newest messages, well formed, old results shortened.

The result is valid for every provider: call ids are unique, each call is followed immediately
by exactly one result, in the order of the calls, and no message is empty.

Where: are long tool results shortened in the history?
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from thinker.protocol.messages import (
    RESULT_LIMIT,
    AssistantMessage,
    Message,
    ToolCall,
    ToolResult,
    UserMessage,
    cap_result,
)

WINDOW = 50  # messages
KEEP_EXCHANGES = 2  # newest exchanges whose results stay whole
BATCH_CHARACTERS = 40_000  # of results shortened together in the cached layout; 10,000 tokens
RECENT_IMAGES = 10  # newest messages whose pictures are shown; older ones are described
LOST = '{"error":"Tool result unavailable (recovered from broken history)"}'


def prepare_history(
    messages: Sequence[Message],
    *,
    window: int = WINDOW,
    keep_exchanges: int = KEEP_EXCHANGES,
    recent_images: int = RECENT_IMAGES,
) -> tuple[Message, ...]:
    """Return the part of a session to send.

    Apply `select_newest`, `repair_history`, `shorten_old_results` and `describe_old_images`.
    """
    shown = shorten_old_results(repair_history(select_newest(messages, window)), keep_exchanges)
    return tuple(map(cap_result, describe_old_images(shown, recent_images)))


def prepare_steady_history(
    messages: Sequence[Message], *, recent_images: int = RECENT_IMAGES
) -> tuple[Message, ...]:
    """Return the part of a session to send, keeping earlier messages byte-identical for caches.

    The journal has already chosen the window. Old results are shortened and pictures described in
    batches whose boundaries depend only on earlier messages; those of `prepare_history` move every
    turn.
    """
    whole = repair_history(messages)
    shown = shorten_old_results(whole, _count_whole_exchanges(whole))
    seen = recent_images and recent_images + (len(shown) - recent_images) % recent_images
    return tuple(map(cap_result, describe_old_images(shown, seen)))


def _count_whole_exchanges(messages: Sequence[Message]) -> int:
    """Return the number of last exchanges that keep their results: all but complete batches."""
    sizes: list[int] = []
    for message in messages:
        if isinstance(message, AssistantMessage) and message.tool_calls:
            sizes.append(0)
        elif isinstance(message, ToolResult):
            sizes[-1] += min(len(message.content), RESULT_LIMIT)
    old = sizes[:-KEEP_EXCHANGES]
    pieces = accumulate(
        old, lambda total, size: size if total >= BATCH_CHARACTERS else total + size
    )
    ends = [number for number, total in enumerate(pieces, 1) if total >= BATCH_CHARACTERS]
    return len(sizes) - (ends[-1] if ends else 0)


def remove_tool_messages(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the conversation without tool results and calls."""
    stripped = (
        message.model_copy(update={"tool_calls": ()})
        if isinstance(message, AssistantMessage)
        else message
        for message in messages
        if not isinstance(message, ToolResult)
    )
    return tuple(m for m in stripped if m.content or not isinstance(m, AssistantMessage))


def select_newest(messages: Sequence[Message], size: int) -> tuple[Message, ...]:
    """Return the last ``size`` messages; `repair_history` drops results without their calls."""
    return tuple(messages[max(0, len(messages) - size) :])


@dataclass
class _Exchange:
    """A message and, if it is an assistant's, the results of its calls, keyed by call id."""

    message: UserMessage | AssistantMessage
    results: dict[str, ToolResult] = field(default_factory=dict)


def repair_history(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Pair calls and results: drop orphans and duplicates, fill in missing ones, restore order.

    A late result (a user spoke in between) moves to its call. A reused call id gets a new one,
    since providers reject repeated ids.
    """
    exchanges: list[_Exchange] = []
    waiting: dict[str, list[tuple[_Exchange, ToolCall]]] = {}
    taken: set[str] = set()
    for message in messages:
        if isinstance(message, ToolResult):
            if places := waiting.get(message.call_id):
                exchange, call = places.pop(0)
                exchange.results[call.id] = _align_result(call, message)
        elif isinstance(message, UserMessage):
            if message.content.strip() or message.images or message.documents or message.quote:
                exchanges.append(_Exchange(message))
        elif message.content.strip() or message.tool_calls:
            calls = tuple(_assign_unique_id(call, taken) for call in message.tool_calls)
            unique = calls == message.tool_calls
            exchange = _Exchange(
                message if unique else message.model_copy(update={"tool_calls": calls})
            )
            exchanges.append(exchange)
            # A reused id belongs to the newer call.
            waiting.update({old.id: [] for old in message.tool_calls})
            for old, new in zip(message.tool_calls, calls, strict=True):
                waiting[old.id].append((exchange, new))
    return tuple(part for exchange in exchanges for part in _flatten_exchange(exchange))


def shorten_old_results(messages: Sequence[Message], keep_exchanges: int) -> tuple[Message, ...]:
    """Replace the tool results before the last ``keep_exchanges`` exchanges by a note.

    An exchange is an assistant message with calls and its results. The note states the length of
    the result as JSON.
    """
    shortened: list[Message] = []
    exchanges = 0
    for message in reversed(messages):
        if isinstance(message, ToolResult) and exchanges >= keep_exchanges:
            short = {"content": _format_truncation_note(message), "images": (), "fence": ""}
            shortened.append(message.model_copy(update=short))
        else:
            exchanges += isinstance(message, AssistantMessage) and bool(message.tool_calls)
            shortened.append(message)
    return tuple(reversed(shortened))


def describe_old_images(messages: Sequence[Message], recent: int) -> tuple[Message, ...]:
    """Replace pictures before the last ``recent`` messages, or without data, by descriptions."""
    first = len(messages) - recent
    return tuple(describe_images(message, i >= first) for i, message in enumerate(messages))


def describe_images(message: Message, seen: bool = False) -> Message:  # noqa: FBT001, FBT002 - its one option
    """Replace the pictures of a message by ``[image: …]``; ``seen`` keeps those with data."""
    if isinstance(message, AssistantMessage) or not message.images:
        return message
    shown = tuple(image for image in message.images if seen and image.data)
    notes = (f"[image: {i.about or i.media_type}]" for i in message.images if i not in shown)
    content = "\n".join(part for part in (message.content, *notes) if part)
    return message.model_copy(update={"content": content, "images": shown})


def make_unique_id(call_id: str, taken: set[str]) -> str:
    """Add an id to ``taken`` and return it, with a number at its end if it was taken."""
    unique, count = call_id, 1
    while unique in taken:
        count += 1
        unique = f"{call_id}_{count}"
    taken.add(unique)
    return unique


def _assign_unique_id(call: ToolCall, taken: set[str]) -> ToolCall:
    unique = make_unique_id(call.id or "call", taken)
    return call if unique == call.id else call.model_copy(update={"id": unique})


def _align_result(call: ToolCall, result: ToolResult) -> ToolResult:
    if (result.call_id, result.name) == (call.id, call.name):
        return result
    return result.model_copy(update={"call_id": call.id, "name": call.name})


def _flatten_exchange(exchange: _Exchange) -> tuple[Message, ...]:
    message = exchange.message
    if isinstance(message, UserMessage):
        return (message,)
    results = tuple(
        exchange.results.get(call.id)
        or ToolResult(call_id=call.id, name=call.name, content=LOST, is_error=True)
        for call in message.tool_calls
    )
    return (message, *results)


def _format_truncation_note(result: ToolResult) -> str:
    if re.fullmatch(rf"\[{re.escape(result.name)}: truncated, was \d+ chars\]", result.content):
        return result.content
    # Objects and arrays are stored as their JSON; text would be quoted in it.
    as_json = result.content.startswith(("{", "["))
    length = len(result.content if as_json else json.dumps(result.content, ensure_ascii=False))
    return f"[{result.name}: truncated, was {length} chars]"


def build_selection_text(new: Sequence[UserMessage], past: Sequence[Message]) -> str:
    """Return the user's last words, by which playbooks and tools are chosen."""
    if new:
        files = (document.about for message in new for document in message.documents)
        return "\n".join((*(message.content for message in new), *files))
    earlier = (message for message in reversed(past) if isinstance(message, UserMessage))
    return next(earlier, UserMessage(content="")).content
