"""Format an outcome as a message of Anthropic's Messages API, whole or as a stream."""

import orjson

from orchestrator.http_api.error_response import ApiProblem
from orchestrator.http_api.parsed_request import ParsedRequest
from orchestrator.http_api.response_formatters import AnswerDelta
from orchestrator.journal.turns.api_requests import HandedCall, Outcome
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

    def begin(self) -> bytes:
        return _event("message_start", message=self._message([], None, Usage()))

    def grow(self, text: str) -> bytes:
        more, another = self._delta.advance(text)
        if not more:
            return b""
        ended = self._stop() if another else b""
        begun = b"" if self._open else self._start({"type": "text", "text": ""})
        return ended + begun + self._add({"type": "text_delta", "text": more})

    def end(self, outcome: Outcome) -> bytes:
        events = [self.grow(outcome.text), self._stop()]
        for call in outcome.calls:
            events.append(self._start({**_call(call), "input": {}}))
            delta: JsonObject = {"type": "input_json_delta", "partial_json": call.arguments}
            events += [self._add(delta), self._stop()]
        reason: JsonObject = {"stop_reason": _reason(outcome), "stop_sequence": None}
        events.append(_event("message_delta", delta=reason, usage=_usage(outcome.usage)))
        return b"".join((*events, _event("message_stop")))

    def fail(self, problem: ApiProblem) -> bytes:
        return _event("error", error=problem.anthropic_document()["error"])

    def document(self, outcome: Outcome) -> JsonObject:
        """Return the whole message."""
        text: JsonObject = {"type": "text", "text": outcome.text}
        calls = ({**_call(call), "input": orjson.loads(call.arguments)} for call in outcome.calls)
        content = [*([text] if outcome.text else []), *calls]
        return self._message(content, _reason(outcome), outcome.usage)

    def _message(self, content: list[JsonObject], reason: str | None, usage: Usage) -> JsonObject:
        stop: JsonObject = {"stop_reason": reason, "stop_sequence": None}
        return {**self._head, "content": [*content], **stop, "usage": _usage(usage)}

    def _start(self, block: JsonObject) -> bytes:
        self._index, self._open = self._index + 1, True
        return _event("content_block_start", index=self._index, content_block=block)

    def _add(self, delta: JsonObject) -> bytes:
        return _event("content_block_delta", index=self._index, delta=delta)

    def _stop(self) -> bytes:
        if not self._open:
            return b""
        self._open = False
        return _event("content_block_stop", index=self._index)


def _event(kind: str, **fields: object) -> bytes:
    data = orjson.dumps({"type": kind, **fields})
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), data)


def _call(call: HandedCall) -> JsonObject:
    return {"type": "tool_use", "id": call.id, "name": call.name}


def _reason(outcome: Outcome) -> str:
    return STOP_REASONS.get(outcome.stop_reason, "end_turn")


def _usage(usage: Usage) -> JsonObject:
    """Return the counts; those of the input exclude what the cache had or took, as theirs do."""
    fresh = max(0, usage.prompt - usage.cached - usage.cache_written)
    return {
        "input_tokens": fresh,
        "output_tokens": usage.completion,
        "cache_read_input_tokens": usage.cached,
        "cache_creation_input_tokens": usage.cache_written,
    }
