"""The event stream of a Responses answer (seed 003): what came, as the events to send.

Pure: it is fed with what an agent said and called, in order, and returns server-sent events.
"""

from dataclasses import dataclass
from typing import TypeAlias

from thinker.protocol.messages import JsonObject, Usage

FAILED = frozenset({"failed", "error", "cancelled", "canceled"})
INCOMPLETE = frozenset({"length", "content_filter"})
CODE = "stream_adapter_error"  # the code of the system that the seed describes
DONE = "[DONE]"


@dataclass(frozen=True)
class ServerEvent:
    """One server-sent event; ``data`` is a JSON object, or the end mark."""

    event: str
    data: JsonObject | str


Events: TypeAlias = tuple[ServerEvent, ...]


@dataclass(frozen=True)
class ResponseHead:
    """What is known of a response before it begins; ``created`` is seconds since the epoch."""

    response_id: str
    message_id: str
    model: str
    created: int


class ResponseStream:
    """One answer; after `fail` or `complete` it has nothing more to say."""

    def __init__(self, head: ResponseHead) -> None:
        self._head = head
        self._sent = 0
        self._text: list[str] = []
        self._calls: list[JsonObject] = []
        self._usage: Usage | None = None
        self._status = "completed"
        self._ended = False

    def text(self, delta: str) -> Events:
        """More of the answer's text."""
        if self._ended or not delta:
            return ()
        self._text.append(delta)
        fields: JsonObject = {"delta": delta, "output_index": 0}
        return (*self._begun(), self._event("output_text.delta", fields))

    def call(self, name: str, arguments: str) -> Events:
        """A call of one of the client's functions, whole; ``arguments`` is JSON text."""
        if self._ended:
            return ()
        call_id = f"fc_{len(self._calls) + 1:03}"
        item: JsonObject = {
            "id": call_id,
            "call_id": call_id,
            "type": "function_call",
            "name": name,
        }
        self._calls.append({**item, "arguments": arguments})
        at: JsonObject = {"response_id": self._head.response_id, "output_index": 0}
        part: JsonObject = {**at, "item_id": call_id}
        events = [
            *self._begun(),
            self._event("output_item.added", {**at, "item": {**item, "status": "in_progress"}}),
        ]
        if arguments:
            delta: JsonObject = {**part, "delta": arguments}
            events.append(self._event("function_call_arguments.delta", delta))
        whole: JsonObject = {**item, "arguments": arguments, "status": "completed"}
        events += [
            self._event("function_call_arguments.done", {**part, "arguments": arguments}),
            self._event("output_item.done", {**at, "item": whole}),
        ]
        return tuple(events)

    def usage(self, usage: Usage) -> None:
        """What the answer used; it goes out with its end."""
        self._usage = usage

    def finished(self, reason: str) -> None:
        """Why the model ended, in the provider's word; the worst of several counts."""
        if reason.lower() in FAILED:
            self._status = "failed"
        elif reason.lower() in INCOMPLETE and self._status != "failed":
            self._status = "incomplete"

    def fail(self, message: str) -> Events:
        """The answer cannot be given, whatever of it was sent."""
        if self._ended:
            return ()
        failed: JsonObject = {
            "response": {"id": self._head.response_id, "status": "failed"},
            "error": {"message": message, "code": CODE},
        }
        events = (*self._begun(), self._event("failed", failed), ServerEvent("done", DONE))
        self._ended = True
        return events

    def complete(self) -> Events:
        """The end, with the whole response."""
        if self._ended:
            return ()
        events = (
            *self._begun(),
            self._event("output_text.done", {}),
            self._event("completed", {"response": self._response()}),
            ServerEvent("done", DONE),
        )
        self._ended = True
        return events

    def _response(self) -> JsonObject:
        head = self._head
        message: JsonObject = {
            "id": head.message_id,
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "".join(self._text)}],
        }
        response: JsonObject = {
            "id": head.response_id,
            "object": "response",
            "created": head.created,
            "status": self._status,
            "model": head.model,
            "output": [message, *self._calls],
        }
        if self._usage is not None:
            response["usage"] = {
                "input_tokens": self._usage.prompt,
                "output_tokens": self._usage.completion,
                "total_tokens": self._usage.total,
            }
        return response

    def _begun(self) -> Events:
        if self._sent:
            return ()
        begun: JsonObject = {"id": self._head.response_id, "status": "in_progress"}
        return (self._event("created", {"response": begun}),)

    def _event(self, name: str, fields: JsonObject) -> ServerEvent:
        self._sent += 1
        kind = f"response.{name}"
        return ServerEvent(kind, {"type": kind, **fields, "sequence_number": self._sent})
