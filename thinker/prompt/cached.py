"""The cached layout (design §7): what may change between turns goes with the newest message.

System prompt and tools stay as they are, and so does the history: a message is sent again with the
context that it was sent with first. So each request of a session begins with the whole request
before it, which providers then read from their caches. A layer that an earlier message already
says, word for word, is not repeated.
"""

from collections.abc import Sequence

from thinker.prompt.fingerprint import digest
from thinker.protocol.messages import LayerRecord, Message, ToolSpec, UserMessage
from thinker.protocol.prompt_record import PromptRecord


class ToolsDigest:
    """The fingerprint of tools, made anew only when others come."""

    def __init__(self) -> None:
        self._tools: Sequence[ToolSpec] = ()
        self._digest = digest("")

    def of(self, tools: Sequence[ToolSpec]) -> str:
        """Of these tools, in their order."""
        if tools is not self._tools:
            self._digest = digest("\n".join(tool.model_dump_json() for tool in tools))
            self._tools = tools
        return self._digest


def fingerprinted(record: PromptRecord, tools_digest: str) -> PromptRecord:
    """The record with the fingerprints of what it shares with other turns, and of the rest."""
    stable = [layer.text for layer in record.layers if not layer.volatile]
    volatile = [layer.text for layer in record.layers if layer.volatile]
    return record.model_copy(
        update={
            "tools_digest": tools_digest,
            "stable": digest("\0".join((*stable, tools_digest))),
            "volatile": digest("\0".join(volatile)),
        }
    )


def arranged(
    record: PromptRecord, past: Sequence[Message], sent: tuple[LayerRecord, ...] | None
) -> PromptRecord:
    """The record in the cached layout, behind a history.

    ``sent`` is what a turn that goes on was sent before; it stays as it was.
    """
    told = {layer.name: layer.text for layer in _contexts(past)}
    volatile = (
        layer.model_copy(update={"standing": told.get(layer.name) == layer.text})
        for layer in record.layers
        if layer.volatile
    )
    stable = (layer for layer in record.layers if not layer.volatile)
    layers = (*stable, *(volatile if sent is None else sent))
    return record.model_copy(update={"layers": layers, "layout": "cached"})


def in_context(
    messages: Sequence[UserMessage], context: tuple[LayerRecord, ...]
) -> tuple[UserMessage, ...]:
    """The messages of a turn with the context at the head of the newest."""
    *others, newest = messages
    return (*others, newest.model_copy(update={"context": context}))


def without_context(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Messages that were sent in the cached layout, as the other one sends them."""
    return tuple(
        message.model_copy(update={"context": ()})
        if isinstance(message, UserMessage) and message.context
        else message
        for message in messages
    )


def _contexts(past: Sequence[Message]) -> list[LayerRecord]:
    """Every layer that stands in a history, the newest last."""
    return [
        layer for message in past if isinstance(message, UserMessage) for layer in message.context
    ]
