"""Put the messages of a chat completion into an order of roles that strict templates take."""

from collections.abc import Sequence

from pydantic import JsonValue

from thinker.protocol.messages import JsonObject

EARLIER = "(The conversation began before this message.)"
GO_ON = "(Go on.)"
SEEN = "(Noted.)"
NOTHING = "(It returned nothing.)"


def join_roles(wire: Sequence[JsonObject]) -> list[JsonObject]:
    """Return one system message, then messages whose roles alternate, a user's first and last.

    Results of tools stay behind their calls. Blank text is left out, with messages that have
    nothing else.
    """
    system = [message for message in wire if message["role"] in ("system", "developer")]
    joined: list[JsonObject] = []
    for message in wire:
        if message in system or _is_blank(message):
            continue
        if message["role"] == "tool" and not message.get("content"):
            message = {**message, "content": NOTHING}  # noqa: PLW2901 - filled in
        if not joined and message["role"] != "user":
            joined.append({"role": "user", "content": EARLIER})
        last = joined[-1] if joined else None
        if last is not None and _can_join(last, message):
            joined[-1] = {**last, **message, "content": _join_contents(last, message)}
        else:
            joined.append(message)
    if joined and joined[-1]["role"] == "assistant" and "tool_calls" not in joined[-1]:
        joined.append({"role": "user", "content": GO_ON})
    texts = [str(message["content"]) for message in system]
    first: list[JsonObject] = [{"role": "system", "content": "\n\n".join(texts)}] if texts else []
    return [*first, *joined]


def separate_tool_results(wire: Sequence[JsonObject]) -> list[JsonObject]:
    """Return the messages with a short answer between a tool's result and a user's message."""
    separated: list[JsonObject] = []
    for message in wire:
        if message["role"] == "user" and separated and separated[-1]["role"] == "tool":
            separated.append({"role": "assistant", "content": SEEN})
        separated.append(message)
    return separated


def _can_join(last: JsonObject, message: JsonObject) -> bool:
    return last["role"] == message["role"] != "tool" and "tool_calls" not in last


def _is_blank(message: JsonObject) -> bool:
    content = message.get("content")
    blank = not content or (isinstance(content, str) and not content.strip())
    return blank and message["role"] != "tool" and "tool_calls" not in message


def _join_contents(last: JsonObject, message: JsonObject) -> JsonValue:
    ours, theirs = last.get("content") or "", message.get("content") or ""
    if isinstance(ours, str) and isinstance(theirs, str):
        return "\n\n".join(filter(None, (ours, theirs)))
    return [*_list_parts(ours), *_list_parts(theirs)]


def _list_parts(content: JsonValue) -> list[JsonValue]:
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []
