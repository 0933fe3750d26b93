"""Format an outcome as a message of Anthropic's Messages API, whole or as a stream."""

import orjson

from orchestrator.extensions.http_api.parsed_request import ParsedRequest
from orchestrator.extensions.http_api.response_formatters import AnswerDelta
from orchestrator.extensions.http_api.stored_requests import HandedCall, Outcome
from orchestrator.web.error_response import ApiProblem
from thinker.protocol.messages import JsonObject, Usage
from thinker.protocol.methods import StopReason

STOP_REASONS = {
    StopReason.HANDED_BACK: "tool_use",
    StopReason.LENGTH: "max_tokens",
    StopReason.MAX_TOKENS: "max_tokens",
    StopReason.REFUSED: "refusal",
}


class MessagesFormatter:
    """A message of ``/v1/messages``."""

    def __init__(self, request_id: str, created: int, request: ParsedRequest) -> None:
        del created  # messages have no time
        self._head: JsonObject = {
            "id": f"msg_{request_id}",
            "type": "message",
            "role": "assistant",
            "model": request.fields.model,
        }
        self._delta = AnswerDelta()
        self._index = -1  # of the newest block
        self._open = False

    def begin_stream(self) -> bytes:
        return _encode_event("message_start", message=self._build_message([], None, Usage()))

    def extend_stream(self, text: str) -> bytes:
        more, another = self._delta.take_new_text(text)
        if not more:
            return b""
        ended = self._stop_block() if another else b""
        begun = b"" if self._open else self._start_block({"type": "text", "text": ""})
        return ended + begun + self._add_delta({"type": "text_delta", "text": more})

    def end_stream(self, outcome: Outcome) -> bytes:
        events = [self.extend_stream(outcome.text), self._stop_block()]
        for call in outcome.calls:
            events.append(self._start_block({**_build_tool_use(call), "input": {}}))
            delta: JsonObject = {"type": "input_json_delta", "partial_json": call.arguments}
            events += [self._add_delta(delta), self._stop_block()]
        reason: JsonObject = {"stop_reason": _choose_stop_reason(outcome), "stop_sequence": None}
        events.append(
            _encode_event("message_delta", delta=reason, usage=_build_usage(outcome.usage))
        )
        return b"".join((*events, _encode_event("message_stop")))

    def fail_stream(self, problem: ApiProblem) -> bytes:
        return _encode_event("error", error=problem.build_anthropic_document()["error"])

    def build_document(self, outcome: Outcome) -> JsonObject:
        """Return the whole message."""
        text: JsonObject = {"type": "text", "text": outcome.text}
        calls = (
            {**_build_tool_use(call), "input": orjson.loads(call.arguments)}
            for call in outcome.calls
        )
        content = [*([text] if outcome.text else []), *calls]
        return self._build_message(content, _choose_stop_reason(outcome), outcome.usage)

    def _build_message(
        self, content: list[JsonObject], reason: str | None, usage: Usage
    ) -> JsonObject:
        stop: JsonObject = {"stop_reason": reason, "stop_sequence": None}
        return {**self._head, "content": [*content], **stop, "usage": _build_usage(usage)}

    def _start_block(self, block: JsonObject) -> bytes:
        self._index, self._open = self._index + 1, True
        return _encode_event("content_block_start", index=self._index, content_block=block)

    def _add_delta(self, delta: JsonObject) -> bytes:
        return _encode_event("content_block_delta", index=self._index, delta=delta)

    def _stop_block(self) -> bytes:
        if not self._open:
            return b""
        self._open = False
        return _encode_event("content_block_stop", index=self._index)


def _encode_event(kind: str, **fields: object) -> bytes:
    data = orjson.dumps({"type": kind, **fields})
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), data)


def _build_tool_use(call: HandedCall) -> JsonObject:
    return {"type": "tool_use", "id": call.id, "name": call.name}


def _choose_stop_reason(outcome: Outcome) -> str:
    return STOP_REASONS.get(outcome.stop_reason, "end_turn")


def _build_usage(usage: Usage) -> JsonObject:
    """Build the counts; input tokens exclude cache reads and writes, as in Anthropic's API."""
    fresh = max(0, usage.prompt - usage.cached - usage.cache_written)
    return {
        "input_tokens": fresh,
        "output_tokens": usage.completion,
        "cache_read_input_tokens": usage.cached,
        "cache_creation_input_tokens": usage.cache_written,
    }
