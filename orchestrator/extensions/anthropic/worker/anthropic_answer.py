"""Parse answers of Anthropic's Messages API, whole or streamed.

Events, blocks and deltas of other types are skipped: new ones appear, and proxies add their own.
"""

from dataclasses import dataclass, field

from pydantic import JsonValue

from thinker.models.base import ModelResponse
from thinker.models.call_arguments import OpenCall, encode_arguments
from thinker.models.collector import Collector, parse_objects
from thinker.models.streaming import END, TextBuffer
from thinker.protocol.loose_json import Loose, get_list, get_object, get_text, read_count
from thinker.protocol.messages import JsonObject
from thinker.protocol.token_counts import AnthropicCounts

SIGNED = frozenset({"thinking", "redacted_thinking"})  # blocks that go back as they came


@dataclass
class _Thought:
    """A block of thinking, as it goes back."""

    block: JsonObject
    text: TextBuffer = field(default_factory=TextBuffer)
    signature: TextBuffer = field(default_factory=TextBuffer)

    def build_block(self) -> JsonObject | None:
        """Return the block; None without the signature that the API requires."""
        if self.block["type"] == "redacted_thinking":
            return self.block
        words = {"thinking": self.text.text, "signature": self.signature.text}
        return {**self.block, **words} if self.signature.text else None


@dataclass
class AnthropicAnswer(Collector):
    """Collects one answer of Anthropic's Messages API."""

    _open: dict[int, OpenCall] = field(default_factory=dict)  # by content block
    _thoughts: dict[int, _Thought] = field(default_factory=dict)  # the same
    _blocks: dict[int, str] = field(default_factory=dict)  # types
    _text: set[int] = field(default_factory=set)  # blocks with words
    _counts: AnthropicCounts = field(default_factory=AnthropicCounts)
    _last: int = 0  # the index of the last block

    def feed(self, data: bytes) -> bool:
        if data == END:  # of proxies
            return True
        last = False
        for event in parse_objects(data):
            last = self._apply_event(event) or last
        return last

    def _apply_event(self, event: Loose) -> bool:
        kind = get_text(event, "type") or ("message" if get_list(event, "content") else "")
        if kind == "message":
            self._apply_message(event)
            if not self.finished:
                self._end_answer("")
        elif kind == "message_start":
            self._apply_message(get_object(event, "message"))
            self._merge_counts(event)
        elif kind == "content_block_start":
            self._last = self._find_index(event)
            self._apply_block(self._last, get_object(event, "content_block"))
        elif kind == "content_block_delta":
            self._apply_delta(self._find_index(event), get_object(event, "delta"))
        elif kind == "message_delta":
            self._merge_counts(event)
            self._apply_stop(get_object(event, "delta"))
        elif kind == "message_stop":
            self.finished = True
        elif kind not in ("ping", "content_block_stop"):
            self.skipped += 1
        return kind == "message_stop"

    def _find_index(self, event: Loose) -> int:
        index = read_count(event.get("index"))
        return self._last if index is None else index

    def _apply_delta(self, index: int, delta: Loose) -> None:
        text, thinking = get_text(delta, "text"), get_text(delta, "thinking")
        self._reasoning.add(thinking)
        self._add_words(index, text)
        if index in self._thoughts:
            self._thoughts[index].text.add(thinking)
            self._thoughts[index].signature.add(get_text(delta, "signature"))
        if index in self._open:
            self._open[index].arguments.add(encode_arguments(delta.get("partial_json")))

    def _apply_stop(self, part: Loose) -> None:
        reason = get_text(part, "stop_reason")
        if reason:
            self._end_answer(reason)

    def _apply_message(self, message: Loose) -> None:
        self._id = get_text(message, "id") or self._id
        self.model = get_text(message, "model") or self.model
        self._merge_counts(message)
        content = message.get("content")
        if isinstance(content, str):
            self._content.add(content)
        for index, block in enumerate(get_list(message, "content")):
            if isinstance(block, dict):
                self._apply_block(index, block)
        self._apply_stop(message)

    def _merge_counts(self, part: Loose) -> None:
        usage = get_object(part, "usage")
        if usage:
            self._counts = self._counts.merge_counts(AnthropicCounts.model_validate(usage))

    def _apply_block(self, index: int, block: Loose) -> None:
        kind = self._blocks[index] = get_text(block, "type")
        if kind == "tool_use":
            call = OpenCall(index, get_text(block, "id"), get_text(block, "name"))
            self._open[index] = call
            self._calls.append(call)
            if block.get("input"):
                call.arguments.add(encode_arguments(block["input"]))
        elif kind in SIGNED:
            thought = self._thoughts[index] = _Thought(dict(block))
            thought.text.add(get_text(block, "thinking"))
            thought.signature.add(get_text(block, "signature"))
            self._reasoning.add(thought.text.text)
        elif kind == "text":
            self._add_words(index, get_text(block, "text"))
        else:
            self.skipped += 1

    def _add_words(self, index: int, text: str) -> None:
        if text:
            self._content.add(text)
            self._text.add(index)

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
        self._calls = [call for call in self._calls if call.name]
        return super().build_response(request_id, call_id)
