"""An outcome as a client is told it, whole or as it grows: one form for each endpoint."""

from typing import Protocol

import orjson

from orchestrator.http_api.error_response import ApiProblem
from orchestrator.http_api.request_body import ChatFields, ParsedRequest, ResponsesFields
from orchestrator.http_api.response_events import Events, ResponseHead, ResponseStream
from orchestrator.journal.turns.api_requests import HandedCall, Outcome
from thinker.protocol.messages import JsonObject, Usage
from thinker.protocol.methods import StopReason

FINISH = {
    StopReason.HANDED_BACK: "tool_calls",
    StopReason.LENGTH: "length",
    StopReason.MAX_TOKENS: "length",
    StopReason.REFUSED: "content_filter",
}


REPAIRED: JsonObject = {"repaired": "true"}  # of an answer that was cut or no JSON


class Answer(Protocol):
    """The answer to one request; its stream is made of bytes to send as they are."""

    def begin(self) -> bytes:
        """The first event."""

    def grow(self, text: str) -> bytes:
        """The answer so far (whole); nothing when it has not grown."""

    def end(self, outcome: Outcome) -> bytes:
        """The rest of it."""

    def fail(self, problem: ApiProblem) -> bytes:
        """The end of an answer that will not come."""

    def document(self, outcome: Outcome) -> JsonObject:
        """The whole answer."""


class AnswerDelta:
    """A text that grows, or that another one follows: what a model says after a tool call."""

    def __init__(self) -> None:
        self._said = ""

    def more(self, text: str) -> tuple[str, bool]:
        """What is new in a text, and whether it begins another one."""
        before, said = self._said, text.strip()
        if said and before.strip().startswith(said):
            return "", False
        self._said = text
        if text.startswith(before):
            return text[len(before) :], False
        return text, bool(before.strip())


class Completion:
    """A chat completion."""

    def __init__(self, request_id: str, created: int, question: ParsedRequest) -> None:
        fields = question.fields
        options = fields.stream_options if isinstance(fields, ChatFields) else None
        self._counts = options is not None and options.include_usage
        self._growth = AnswerDelta()
        self._head: JsonObject = {
            "id": f"chatcmpl-{request_id}",
            "created": created,
            "model": fields.model,
        }

    def begin(self) -> bytes:
        """The role."""
        return self._chunk({"role": "assistant", "content": ""})

    def grow(self, text: str) -> bytes:
        """More of the content."""
        more, another = self._growth.more(text)
        return self._chunk({"content": "\n\n" * another + more}) if more else b""

    def end(self, outcome: Outcome) -> bytes:
        """The last words, the calls, the reason, the usage if it is wanted, the end mark."""
        sent = [self.grow(outcome.text)]
        for index, call in enumerate(outcome.calls):
            sent.append(self._chunk({"tool_calls": [{"index": index, **_call(call)}]}))
        told: JsonObject = {"metadata": REPAIRED} if outcome.repaired else {}
        sent.append(self._chunk({}, FINISH.get(outcome.stop_reason, "stop"), told))
        if self._counts:
            counted: JsonObject = {"choices": [], "usage": _usage(outcome.usage)}
            sent.append(_data({**self._head, "object": "chat.completion.chunk", **counted}))
        return b"".join((*sent, b"data: [DONE]\n\n"))

    def fail(self, problem: ApiProblem) -> bytes:
        """The error, which OpenAI's clients raise."""
        return _data(problem.document()) + b"data: [DONE]\n\n"

    def document(self, outcome: Outcome) -> JsonObject:
        """The whole completion; ``metadata`` only where there is something to say."""
        message: JsonObject = {"role": "assistant", "content": outcome.text or None}
        if outcome.calls:
            message["tool_calls"] = [_call(call) for call in outcome.calls]
        choice: JsonObject = {
            "index": 0,
            "message": {**message, "refusal": None},
            "logprobs": None,
            "finish_reason": FINISH.get(outcome.stop_reason, "stop"),
        }
        usage = _usage(outcome.usage)
        told: JsonObject = {"metadata": REPAIRED} if outcome.repaired else {}
        whole: JsonObject = {"object": "chat.completion", "choices": [choice], "usage": usage}
        return {**self._head, **whole, **told}

    def _chunk(
        self, delta: JsonObject, finish: str | None = None, told: JsonObject | None = None
    ) -> bytes:
        choice: JsonObject = {"index": 0, "delta": delta, "finish_reason": finish}
        chunk: JsonObject = {"object": "chat.completion.chunk", "choices": [choice]}
        return _data({**self._head, **chunk, **(told or {})})


class Response:
    """A response of the newer endpoint."""

    def __init__(self, request_id: str, created: int, question: ParsedRequest) -> None:
        fields = question.fields
        asked: JsonObject = {
            "metadata": fields.metadata or {},
            "parallel_tool_calls": fields.parallel_tool_calls is not False,
            "temperature": fields.temperature,
            "top_p": None,
            "tools": fields.tools or [],
            "tool_choice": fields.tool_choice or "auto",
            "store": question.body.store,
            "previous_response_id": question.previous_id and f"resp_{question.previous_id}",
            "user": fields.user,
        }
        if isinstance(fields, ResponsesFields):
            asked["instructions"] = fields.instructions
            asked["max_output_tokens"] = fields.max_output_tokens
            asked["text"] = fields.text or {"format": {"type": "text"}}
        if question.conversation is not None:
            asked["conversation"] = {"id": question.conversation}
        head = ResponseHead(f"resp_{request_id}", fields.model, created, asked)
        self._stream = ResponseStream(head)
        self._growth = AnswerDelta()

    def begin(self) -> bytes:
        """The response, in progress."""
        return _sent(self._stream.begin())

    def grow(self, text: str) -> bytes:
        """More of the text, or of another one."""
        more, another = self._growth.more(text)
        closed = self._stream.close_text() if another else ()
        return _sent((*closed, *self._stream.text(more)))

    def end(self, outcome: Outcome) -> bytes:
        """The last words, the calls, the whole response, the end mark."""
        grown = self.grow(outcome.text)
        return grown + _sent((*self._take(outcome), *self._stream.complete()))

    def fail(self, problem: ApiProblem) -> bytes:
        """The response, failed."""
        return _sent(self._stream.fail(str(problem), problem.code or "server_error"))

    def document(self, outcome: Outcome) -> JsonObject:
        """The whole response."""
        self.grow(outcome.text)
        self._take(outcome)
        self._stream.close_text()
        return self._stream.response()

    def _take(self, outcome: Outcome) -> Events:
        events = [event for call in outcome.calls for event in self._stream.call(call)]
        self._stream.finished(FINISH.get(outcome.stop_reason, "stop"))
        self._stream.usage(outcome.usage)
        if outcome.repaired:
            self._stream.remark(REPAIRED)
        return tuple(events)


def _sent(events: Events) -> bytes:
    lines = []
    for event in events:
        text = event.data if isinstance(event.data, str) else orjson.dumps(event.data).decode()
        lines.append(f"event: {event.event}\ndata: {text}\n\n")
    return "".join(lines).encode()


def _data(document: JsonObject) -> bytes:
    return b"data: " + orjson.dumps(document) + b"\n\n"


def _call(call: HandedCall) -> JsonObject:
    function: JsonObject = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _usage(usage: Usage) -> JsonObject:
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.total,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }
