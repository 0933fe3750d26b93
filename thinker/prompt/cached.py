"""The cached layout: layers that change between turns go with the newest message.

System prompt, tools and history stay byte-identical: each message keeps its first context. So every
request of a session begins with the whole previous request, which providers read from their caches.
A layer whose text is already in the history is not repeated.

Where: does the cached layout arrange the changing layers?
"""

from collections.abc import Sequence
from functools import lru_cache

from thinker.prompt.fingerprint import compute_digest
from thinker.protocol.messages import LayerRecord, Message, ToolSpec, UserMessage
from thinker.protocol.prompt_record import PromptRecord


@lru_cache(maxsize=4)
def compute_tools_digest(tools: tuple[ToolSpec, ...]) -> str:
    """Return the fingerprint of tools."""
    return compute_digest("\n".join(tool.model_dump_json() for tool in tools))


def compute_fingerprints(
    layers: Sequence[LayerRecord], tools: tuple[ToolSpec, ...]
) -> tuple[str, str, str]:
    """Return three fingerprints.

    They are of the stable layers with the tools, of the volatile layers, and of the tools.
    """
    stable = [layer.text for layer in layers if not layer.volatile]
    volatile = [layer.text for layer in layers if layer.volatile]
    offer = compute_tools_digest(tools)
    return compute_digest("\0".join((*stable, offer))), compute_digest("\0".join(volatile)), offer


def arrange_cached(
    record: PromptRecord, past: Sequence[Message], sent: tuple[LayerRecord, ...] | None
) -> PromptRecord:
    """Return the record in the cached layout, to be sent after a history.

    ``sent`` holds the volatile layers of a turn that is resumed; they are kept as they were.
    """
    said = (message for message in past if isinstance(message, UserMessage))
    known = {layer.name: layer.text for message in said for layer in message.context}
    volatile = (
        layer.model_copy(update={"standing": known.get(layer.name) == layer.text})
        for layer in record.layers
        if layer.volatile
    )
    stable = (layer for layer in record.layers if not layer.volatile)
    layers = (*stable, *(volatile if sent is None else sent))
    return record.model_copy(update={"layers": layers, "layout": "cached"})


def add_context(
    messages: Sequence[Message], context: tuple[LayerRecord, ...]
) -> tuple[Message, ...]:
    """Return the messages with these layers at the head of the newest user message."""
    said = [n for n, message in enumerate(messages) if isinstance(message, UserMessage)]
    if not said:
        return tuple(messages)
    newest = messages[said[-1]].model_copy(update={"context": context})
    return (*messages[: said[-1]], newest, *messages[said[-1] + 1 :])


def remove_context(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Remove the context from messages that were sent in the cached layout."""
    return tuple(
        message.model_copy(update={"context": ()})
        if isinstance(message, UserMessage) and message.context
        else message
        for message in messages
    )
