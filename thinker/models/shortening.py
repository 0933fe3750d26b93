"""Shorten a model request that does not fit: long texts first, then old turns, then what is fixed.

Sizes are characters of texts, as `measure_request` counts them. What is cut or left out carries a
note, so that the model knows that it does not see everything.

Where: is a request made shorter when the model takes no more?
"""

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from thinker.history import describe_images
from thinker.models.base import IMAGE_CHARACTERS, ModelRequest
from thinker.protocol.degradations import Degradation
from thinker.protocol.messages import AssistantMessage, Message, ToolResult, ToolSpec, UserMessage

PER_TOOL = 1000  # characters, in an estimate
PER_MESSAGE = 40  # characters of names and marks around each message
LEAST = 120  # characters that are kept of a cut text
HEAD = 0.7  # part of what is kept that comes from the beginning; the rest is the end
NEWEST = 0.7  # part of the room that the newest message may take from earlier ones
LARGEST = 0.4  # part of the room that one earlier message may take
FIXED = 0.5  # part of the whole that prompt and tools may take
NOTE = "\n[… {cut} characters are left out here: the model cannot read more at once …]\n"
DROPPED = (
    "[Earlier messages of this conversation are left out: the model cannot read more at once.]"
)


class RequestSizes(NamedTuple):
    """The characters of a request by part; ``newest`` is the last user message and what follows."""

    system: int
    tools: int
    history: int
    newest: int

    @property
    def total(self) -> int:
        return sum(self)


class ShortenedRequest(NamedTuple):
    """A shorter request, and what it had to do without; ``fits`` tells whether it is enough."""

    request: ModelRequest
    degraded: tuple[Degradation, ...]
    fits: bool


def estimate_size(request: ModelRequest) -> int:
    """Return more characters than a usual request has, at the least cost."""
    said = len(request.system) + sum([len(message.content) for message in request.messages])
    return 2 * said + PER_TOOL * len(request.tools)


def measure_request(request: ModelRequest) -> RequestSizes:
    """Return the sizes of a request's parts; cheap enough for every call."""
    start = find_newest(request.messages)
    return RequestSizes(
        len(request.system),
        _measure_tools(request.tools),
        sum(map(measure_message, request.messages[:start])),
        sum(map(measure_message, request.messages[start:])),
    )


def measure_message(message: Message) -> int:
    """Return the characters of a message as a model reads it, calls and pictures included."""
    size = PER_MESSAGE + len(message.content)
    if isinstance(message, AssistantMessage):
        return size + sum(len(call.name) + len(str(call.arguments)) for call in message.tool_calls)
    size += IMAGE_CHARACTERS * len(message.images)
    if isinstance(message, UserMessage):
        size += sum(len(document.content) for document in message.documents)
        size += sum(len(layer.text) for layer in message.context)
    return size


@lru_cache(maxsize=8)
def _measure_tools(tools: tuple[ToolSpec, ...]) -> int:
    return sum(_measure_tool(tool) for tool in tools)


def _measure_tool(tool: ToolSpec) -> int:
    return 2 * PER_MESSAGE + len(tool.name) + len(tool.description) + len(str(tool.parameters))


def shorten_request(request: ModelRequest, size: int) -> ShortenedRequest:
    """Return the request cut to at most ``size`` characters, or as near as possible."""
    done: list[Degradation] = []
    sizes = measure_request(request)
    if sizes.total <= size:
        return ShortenedRequest(request, (), fits=True)
    if sizes.system + sizes.tools > FIXED * size:
        request = _reduce_fixed_part(request, round(FIXED * size), done)
        sizes = measure_request(request)
    room = max(0, size - sizes.system - sizes.tools)
    messages = tuple(_drop_layers(message, request.spare) for message in request.messages)
    request = replace(request, messages=_shorten_messages(messages, room, done))
    return ShortenedRequest(request, tuple(done), measure_request(request).total <= size)


def _reduce_fixed_part(request: ModelRequest, size: int, done: list[Degradation]) -> ModelRequest:
    """Leave out tools while they take more than the prompt, then optional parts of the prompt."""
    said = (one for one in request.messages if isinstance(one, AssistantMessage))
    called = {call.name for one in said for call in one.tool_calls}
    room = max(size - len(request.system), size // 2)
    kept: list[ToolSpec] = []
    wanted = (*called, request.tool_choice.name)
    for tool in sorted(request.tools, key=lambda one: (one.name not in wanted, not one.always)):
        room -= _measure_tool(tool)
        if room >= 0 or (tool.name == request.tool_choice.name):
            kept.append(tool)
    if len(kept) < len(request.tools):
        left = [tool.name for tool in request.tools if tool not in kept]
        what = f"{len(left)} of {len(request.tools)} left out, which do not fit: {', '.join(left)}"
        done.append(Degradation(kind="tools", what=textwrap.shorten(what, 300, placeholder=" …")))
        tools = tuple(tool for tool in request.tools if tool in kept)
        request = replace(request, tools=tools)
    for text in request.spare:
        if len(request.system) + _measure_tools(request.tools) > size and text in request.system:
            parts = (part.strip("\n") for part in request.system.split(text))
            request = replace(request, system="\n\n".join(filter(None, parts)))
            name = text.strip().partition("\n")[0].lstrip("# ")[:60]
            done.append(Degradation(kind="history", subject=name, what="left out of the prompt"))
    return request


def _shorten_messages(
    messages: Sequence[Message], room: int, done: list[Degradation]
) -> tuple[Message, ...]:
    """Cut long messages and drop old turns, so that what is new keeps the most of the room."""
    start = find_newest(messages)
    history, newest = tuple(messages[:start]), tuple(messages[start:])
    past = sum(map(measure_message, history))
    share = max(room - past, round(NEWEST * room))
    newest = _cut_to_room(newest, share, done)
    room -= sum(map(measure_message, newest))
    if past <= room:
        return (*history, *newest)
    old = tuple(_cut_message(describe_images(one), round(LARGEST * room)) for one in history)
    cut = sum(one is not before for one, before in zip(old, history, strict=True))
    kept = _drop_old_turns(old, room - len(DROPPED))
    dropped = len(old) - len(kept)
    shown = (*kept, *newest)
    if dropped and isinstance(shown[0], UserMessage):
        marked = {"content": f"{DROPPED}\n\n{shown[0].content}"}
        shown = (shown[0].model_copy(update=marked), *shown[1:])
    what = f"{dropped} left out and {cut} shortened of {len(old)} earlier messages"
    done.append(Degradation(kind="history", what=what))
    return shown


def _drop_layers(message: Message, spare: tuple[str, ...]) -> Message:
    """Return the message without the optional parts of the prompt that it carries."""
    if not isinstance(message, UserMessage) or not message.context:
        return message
    kept = tuple(layer for layer in message.context if layer.text not in spare)
    return message if kept == message.context else message.model_copy(update={"context": kept})


def find_newest(messages: Sequence[Message]) -> int:
    """Return the index of the last user message; 0 if there is none."""
    at = len(messages)
    while at and not isinstance(messages[at - 1], UserMessage):
        at -= 1
    return max(0, at - 1)


def _drop_old_turns(messages: Sequence[Message], room: int) -> tuple[Message, ...]:
    """Return the newest whole turns that fit."""
    start = at = len(messages)
    while at and room >= 0:
        at -= 1
        room -= measure_message(messages[at])
        if room >= 0 and isinstance(messages[at], UserMessage):
            start = at
    return tuple(messages[start:])


def _cut_to_room(
    messages: tuple[Message, ...], room: int, done: list[Degradation]
) -> tuple[Message, ...]:
    """Cut the largest messages of the turn, all to the same size, until they fit."""
    sizes = [measure_message(message) for message in messages]
    if sum(sizes) <= room:
        return messages
    cap = _find_cap(sizes, room)
    cut = tuple(_cut_message(message, cap) for message in messages)
    pairs = list(zip(cut, messages, strict=True))
    if any(one is not before for one, before in pairs if isinstance(one, UserMessage)):
        size = next(measure_message(m) for m in messages if isinstance(m, UserMessage))
        done.append(Degradation(kind="message", what=f"cut from {size} to {cap} characters"))
    if any(one is not before for one, before in pairs if isinstance(one, ToolResult)):
        done.append(Degradation(kind="history", what="results of tools cut"))
    return cut


def _find_cap(sizes: Iterable[int], room: int) -> int:
    """Return the size to which the largest must be cut for all to fit into the room."""
    rest = sorted(sizes)
    while rest and rest[0] * len(rest) <= room:
        room -= rest.pop(0)
    return max(0, room) // max(1, len(rest))


def _cut_message(message: Message, size: int) -> Message:
    """Return the message with its texts cut to about ``size`` characters; itself if it fits."""
    over = measure_message(message) - size
    if over <= 0:
        return message
    if isinstance(message, AssistantMessage):
        return _cut_content(message, over)
    if message.images and over > len(message.content):
        message = describe_images(message)
        over = measure_message(message) - size
    if over > 0 and isinstance(message, UserMessage) and message.documents:
        room = max(LEAST, sum(len(d.content) for d in message.documents) - over)
        cap = _find_cap((len(document.content) for document in message.documents), room)
        documents = tuple(
            document.model_copy(update={"content": cut_middle(document.content, cap)})
            for document in message.documents
        )
        message = message.model_copy(update={"documents": documents})
        over = measure_message(message) - size
    return _cut_content(message, over) if over > 0 else message


def _cut_content(message: Message, over: int) -> Message:
    content = cut_middle(message.content, max(LEAST, len(message.content) - over))
    return (
        message if content == message.content else message.model_copy(update={"content": content})
    )


def cut_middle(text: str, size: int) -> str:
    """Return the beginning and the end of a text, with a note between; itself if it fits."""
    if len(text) <= size:
        return text
    kept = max(0, size - len(NOTE))
    head = round(HEAD * kept)
    tail = kept - head
    return text[:head] + NOTE.format(cut=len(text) - kept) + (text[-tail:] if tail else "")
