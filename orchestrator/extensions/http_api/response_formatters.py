"""Format an outcome as a response, whole or as a stream: one formatter for each endpoint.

`build_document` returns the whole response, the other methods its stream: `begin_stream` the first
events, `extend_stream` what is new in the whole answer so far (nothing if it has not grown),
`end_stream` the rest, or `fail_stream` the end of a stream whose answer cannot be given.
"""

from http import HTTPStatus
from typing import Protocol

import orjson

from orchestrator.extensions.http_api.parsed_request import (
    ChatFields,
    ParsedRequest,
    ResponsesFields,
)
from orchestrator.extensions.http_api.response_events import Events, ResponseHead, ResponseStream
from orchestrator.extensions.http_api.stored_requests import HandedCall, Outcome
from orchestrator.web.error_response import ApiProblem
from thinker.protocol.messages import JsonObject, Usage
from thinker.protocol.methods import StopReason

FINISH_REASONS = {
    StopReason.HANDED_BACK: "tool_calls",
    StopReason.LENGTH: "length",
    StopReason.MAX_TOKENS: "length",
    StopReason.REFUSED: "content_filter",
}
REPAIRED: JsonObject = {"repaired": "true"}  # metadata of an answer that was cut or not JSON
DONE = b"data: [DONE]\n\n"
TOO_LONG = "context_length_exceeded"  # which tells clients to send less


class AnswerDelta:
    """Finds the new part of an answer that grows or is replaced after a tool call."""

    def __init__(self) -> None:
        self._text = ""

    def take_new_text(self, text: str) -> tuple[str, bool]:
        """Return the new part of ``text``, and whether it begins another answer."""
        before, trimmed = self._text, text.strip()
        if trimmed and before.strip().startswith(trimmed):
            return "", False
        self._text = text
        if text.startswith(before):
            return text[len(before) :], False
        return text, bool(before.strip())


class ChatFormatter:
    """A chat completion."""

    def __init__(self, request_id: str, created: int, request: ParsedRequest) -> None:
        fields = request.fields
        options = fields.stream_options if isinstance(fields, ChatFields) else None
        self._include_usage = options is not None and options.include_usage
        self._delta = AnswerDelta()
        self._head: JsonObject = {
            "id": f"chatcmpl-{request_id}",
            "created": created,
            "model": fields.model,
        }

    def begin_stream(self) -> bytes:
        return self._encode_chunk({"role": "assistant", "content": ""})

    def extend_stream(self, text: str) -> bytes:
        more, another = self._delta.take_new_text(text)
        return self._encode_chunk({"content": "\n\n" * another + more}) if more else b""

    def end_stream(self, outcome: Outcome) -> bytes:
        chunks = [self.extend_stream(outcome.text)]
        for index, call in enumerate(outcome.calls):
            chunks.append(
                self._encode_chunk({"tool_calls": [{"index": index, **_build_tool_call(call)}]})
            )
        reason = FINISH_REASONS.get(outcome.stop_reason, "stop")
        chunks.append(self._encode_chunk({}, reason, _build_metadata(outcome)))
        if self._include_usage:
            counted: JsonObject = {"choices": [], "usage": _build_usage(outcome.usage)}
            chunks.append(
                _encode_data({**self._head, "object": "chat.completion.chunk", **counted})
            )
        return b"".join((*chunks, DONE))

    def fail_stream(self, problem: ApiProblem) -> bytes:
        return _encode_data(problem.build_openai_document()) + DONE

    def build_document(self, outcome: Outcome) -> JsonObject:
        """Return the whole completion, with ``metadata`` unless that is empty."""
        message: JsonObject = {"role": "assistant", "content": outcome.text or None}
        if outcome.calls:
            message["tool_calls"] = [_build_tool_call(call) for call in outcome.calls]
        choice: JsonObject = {
            "index": 0,
            "message": {**message, "refusal": None},
            "logprobs": None,
            "finish_reason": FINISH_REASONS.get(outcome.stop_reason, "stop"),
        }
        return {
            **self._head,
            "object": "chat.completion",
            "choices": [choice],
            "usage": _build_usage(outcome.usage),
            **_build_metadata(outcome),
        }

    def _encode_chunk(
        self, delta: JsonObject, finish: str | None = None, metadata: JsonObject | None = None
    ) -> bytes:
        choice: JsonObject = {"index": 0, "delta": delta, "finish_reason": finish}
        chunk: JsonObject = {"object": "chat.completion.chunk", "choices": [choice]}
        return _encode_data({**self._head, **chunk, **(metadata or {})})


class ResponsesFormatter:
    """A response of ``/v1/responses``."""

    def __init__(self, request_id: str, created: int, request: ParsedRequest) -> None:
        fields = request.fields
        echoed: JsonObject = {
            "metadata": fields.metadata or {},
            "parallel_tool_calls": fields.parallel_tool_calls is not False,
            "temperature": fields.temperature,
            "top_p": None,
            "tools": fields.tools or [],
            "tool_choice": fields.tool_choice or "auto",
            "store": request.body.store,
            "previous_response_id": request.previous_id and f"resp_{request.previous_id}",
            "user": fields.user,
        }
        if isinstance(fields, ResponsesFields):
            echoed["instructions"] = fields.instructions
            echoed["max_output_tokens"] = fields.max_output_tokens
            echoed["text"] = fields.text or {"format": {"type": "text"}}
        if request.conversation is not None:
            echoed["conversation"] = {"id": request.conversation}
        head = ResponseHead(f"resp_{request_id}", fields.model, created, echoed)
        self._stream = ResponseStream(head)
        self._delta = AnswerDelta()

    def begin_stream(self) -> bytes:
        return _encode_events(self._stream.begin_response())

    def extend_stream(self, text: str) -> bytes:
        more, another = self._delta.take_new_text(text)
        closed = self._stream.close_text() if another else ()
        return _encode_events((*closed, *self._stream.add_text(more)))

    def end_stream(self, outcome: Outcome) -> bytes:
        rest = self.extend_stream(outcome.text)
        return rest + _encode_events(
            (*self._finish_response(outcome), *self._stream.complete_response())
        )

    def fail_stream(self, problem: ApiProblem) -> bytes:
        return _encode_events(
            self._stream.fail_response(str(problem), problem.code or "server_error")
        )

    def build_document(self, outcome: Outcome) -> JsonObject:
        self.extend_stream(outcome.text)
        self._finish_response(outcome)
        self._stream.close_text()
        return self._stream.build_response()

    def build_pending_document(self) -> JsonObject:
        """Build a response that is not ready yet."""
        return self._stream.build_response("in_progress")

    def build_failed_document(self, problem: ApiProblem) -> JsonObject:
        """Build a failed response, with the reason."""
        error: JsonObject = {"code": problem.code, "message": str(problem)}
        return {**self._stream.build_response("failed"), "error": error}

    def _finish_response(self, outcome: Outcome) -> Events:
        events = [event for call in outcome.calls for event in self._stream.add_call(call)]
        self._stream.reason = FINISH_REASONS.get(outcome.stop_reason, "stop")
        self._stream.usage = outcome.usage
        self._stream.metadata = REPAIRED if outcome.repaired else {}
        return tuple(events)


class ResponseFormatter(Protocol):
    """Formats the outcome of one request."""

    def begin_stream(self) -> bytes:
        """Return the first events of a stream."""

    def extend_stream(self, text: str) -> bytes:
        """Return the events for the new part of the answer so far."""

    def end_stream(self, outcome: Outcome) -> bytes:
        """Return the rest of a stream."""

    def fail_stream(self, problem: ApiProblem) -> bytes:
        """Return the end of a stream whose answer cannot be given."""

    def build_document(self, outcome: Outcome) -> JsonObject:
        """Return the whole response."""


def find_outcome_problem(outcome: Outcome) -> ApiProblem | None:
    """Return the reason why there is no answer, or None if there is one."""
    if outcome.error is None:
        return None
    if outcome.stop_reason is StopReason.OVERFLOW:
        message = f"the prompt is too long, it exceeds the context window: {outcome.error}"
        return ApiProblem(HTTPStatus.BAD_REQUEST, message, code=TOO_LONG)
    late = outcome.stop_reason is StopReason.DEADLINE
    status = HTTPStatus.GATEWAY_TIMEOUT if late else HTTPStatus.BAD_GATEWAY
    text, error = outcome.text, outcome.error
    message = text if error == text else f"{text} ({error})"
    return ApiProblem(status, message, code=outcome.stop_reason.value)


def _encode_events(events: Events) -> bytes:
    lines = []
    for event in events:
        text = event.data if isinstance(event.data, str) else orjson.dumps(event.data).decode()
        lines.append(f"event: {event.event}\ndata: {text}\n\n")
    return "".join(lines).encode()


def _encode_data(document: JsonObject) -> bytes:
    return b"data: " + orjson.dumps(document) + b"\n\n"


def _build_metadata(outcome: Outcome) -> JsonObject:
    return {"metadata": REPAIRED} if outcome.repaired else {}


def _build_tool_call(call: HandedCall) -> JsonObject:
    function: JsonObject = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _build_usage(usage: Usage) -> JsonObject:
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.total,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }
