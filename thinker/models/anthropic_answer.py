"""Parse answers of Anthropic's Messages API, whole or streamed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson
from pydantic import BaseModel, ConfigDict, JsonValue

from thinker.models.base import ModelResponse
from thinker.models.call_arguments import OpenCall
from thinker.models.collector import Collector
from thinker.models.streaming import TextBuffer
from thinker.protocol.messages import JsonObject
from thinker.protocol.methods import Finish
from thinker.protocol.token_counts import AnthropicCounts

FINISH: Mapping[str, Finish] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}
SIGNED = frozenset({"thinking", "redacted_thinking"})  # blocks that go back as they came


class _Block(BaseModel):
    """A content block; types other than text, thinking and tool_use leave the fields empty."""

    model_config = ConfigDict(extra="allow")

    type: str
    text: str = ""
    thinking: str = ""
    signature: str = ""
    id: str = ""
    name: str = ""
    input: JsonValue = None


class _Message(BaseModel):
    id: str = ""
    model: str = ""
    content: list[_Block] = []
    stop_reason: str | None = None
    usage: AnthropicCounts = AnthropicCounts()


class _Delta(BaseModel):
    """An addition to a block, or (``stop_reason``) to the message."""

    text: str = ""
    thinking: str = ""
    signature: str = ""
    partial_json: str = ""
    stop_reason: str | None = None


class _Event(BaseModel):
    """A stream event; fields that its type lacks stay empty."""

    type: str
    index: int = 0
    message: _Message | None = None
    content_block: _Block | None = None
    delta: _Delta = _Delta()
    usage: AnthropicCounts = AnthropicCounts()


class _Kind(BaseModel):
    type: str


@dataclass
class _Thought:
    """A block of thinking, as it goes back."""

    block: _Block
    text: TextBuffer = field(default_factory=TextBuffer)
    signature: TextBuffer = field(default_factory=TextBuffer)

    def build_block(self) -> JsonObject | None:
        """Return the block; None without the signature that the API requires."""
        if self.block.type == "redacted_thinking":
            return self.block.model_dump(include={"type", *(self.block.model_extra or {})})
        if not self.signature.text:
            return None
        thinking: JsonObject = {"type": "thinking", "thinking": self.text.text}
        return {**thinking, "signature": self.signature.text, **(self.block.model_extra or {})}


@dataclass
class AnthropicAnswer(Collector):
    """Collects one answer of Anthropic's Messages API."""

    _open: dict[int, OpenCall] = field(default_factory=dict)  # by content block
    _thoughts: dict[int, _Thought] = field(default_factory=dict)  # the same
    _blocks: dict[int, str] = field(default_factory=dict)  # types
    _text: set[int] = field(default_factory=set)  # blocks with words
    _counts: AnthropicCounts = field(default_factory=AnthropicCounts)

    def feed(self, data: bytes) -> bool:
        kind = _Kind.model_validate_json(data).type
        if kind == "message":
            self._apply_message(_Message.model_validate_json(data))
            self.finished = True
        elif kind == "message_stop":
            self.finished = True
        elif kind.startswith(("message_", "content_block_")):
            self._apply_event(_Event.model_validate_json(data))
        elif kind != "ping":
            raise ValueError(f"unknown event type {kind!r}")
        return kind == "message_stop"

    def _apply_event(self, event: _Event) -> None:
        self._counts = self._counts.merge_counts(event.usage)
        if event.message is not None:
            self._apply_message(event.message)
        if event.content_block is not None:
            self._apply_block(event.index, event.content_block)
        self._content.add(event.delta.text)
        self._reasoning.add(event.delta.thinking)
        thought = self._thoughts.get(event.index)
        if thought is not None:
            thought.text.add(event.delta.thinking)
            thought.signature.add(event.delta.signature)
        elif event.delta.text:
            self._text.add(event.index)
        if event.delta.partial_json and event.index in self._open:
            self._open[event.index].arguments.add(event.delta.partial_json)
        if event.delta.stop_reason is not None:
            self._finish = FINISH.get(event.delta.stop_reason, "done")
            self.finished = True

    def _apply_message(self, message: _Message) -> None:
        self._id = message.id
        self.model = message.model or self.model
        self._finish = FINISH.get(message.stop_reason or "", "done")
        self._counts = self._counts.merge_counts(message.usage)
        for index, block in enumerate(message.content):
            self._apply_block(index, block)

    def _apply_block(self, index: int, block: _Block) -> None:
        self._content.add(block.text)
        self._reasoning.add(block.thinking)
        self._blocks[index] = block.type
        if block.type in SIGNED:
            thought = self._thoughts[index] = _Thought(block)
            thought.text.add(block.thinking)
            thought.signature.add(block.signature)
        elif block.text:
            self._text.add(index)
        if block.type == "tool_use":
            call = self._open[index] = OpenCall(index, block.id, block.name)
            if block.input:
                call.arguments.add(orjson.dumps(block.input).decode())

    def _list_fields(self) -> JsonObject:
        """Return ``blocks``: the signed thoughts, and null for each other block."""
        blocks: list[JsonValue] = []
        for index in sorted(self._blocks):
            thought = self._thoughts.get(index)
            if thought is None:
                blocks += [None] if index in self._open or index in self._text else []
            elif found := thought.build_block():
                blocks.append(found)
        # Calls without thoughts say by this that no other model made them.
        return {"blocks": blocks} if any(blocks) or self._open else {}

    def build_response(self, request_id: str, call_id: str = "") -> ModelResponse:
        self._usage = self._counts.to_usage()
        self._calls = [*self._open.values()]
        return super().build_response(request_id, call_id)
