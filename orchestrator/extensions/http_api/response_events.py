"""A response of ``/v1/responses``, and its event stream.

Pure: turns an agent's text and calls, in order, into server-sent events. OpenAI's own clients
assemble the response from them, so items and parts have their own events.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

from orchestrator.extensions.http_api.stored_requests import HandedCall
from thinker.protocol.messages import JsonObject, Usage

CODE = "stream_adapter_error"  # what existing clients know
DONE = "[DONE]"
INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


@dataclass(frozen=True)
class ServerEvent:
    """A server-sent event; ``data`` is a JSON object, or the end mark."""

    event: str
    data: JsonObject | str


Events: TypeAlias = tuple[ServerEvent, ...]


@dataclass(frozen=True)
class ResponseHead:
    """What is known of a response before it begins.

    ``created`` is in seconds since the epoch; ``echoed`` are fields of the request.
    """

    response_id: str
    model: str
    created: int
    echoed: JsonObject


@dataclass
class _TextItem:
    """An item of text, written piece by piece."""

    item_id: str
    index: int
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def build_part(self) -> JsonObject:
        return {"type": "output_text", "text": self.text, "annotations": [], "logprobs": []}

    def build_item(self, status: str) -> JsonObject:
        """Return the item, without content while the item is in progress."""
        return {
            "id": self.item_id,
            "type": "message",
            "role": "assistant",
            "status": status,
            "content": [] if status == "in_progress" else [self.build_part()],
        }


class ResponseStream:
    """One response; after `fail_response` or `complete_response` it returns no more events.

    Set before the last event: ``usage``, ``reason`` (why the model ended, a ``finish_reason`` of
    chat completions), and ``metadata`` in addition to the client's own.
    """

    def __init__(self, head: ResponseHead) -> None:
        self.usage: Usage | None = None
        self.reason = ""
        self.metadata: JsonObject = {}
        self._head = head
        self._sent = 0
        self._output: list[JsonObject] = []
        self._open: _TextItem | None = None
        self._ended = False

    def begin_response(self) -> Events:
        """Return the first events, unless they were sent."""
        if self._sent:
            return ()
        fields: JsonObject = {"response": self.build_response("in_progress")}
        return (self._build_event("created", fields), self._build_event("in_progress", fields))

    def add_text(self, delta: str) -> Events:
        if self._ended or not delta:
            return ()
        events = [*self.begin_response()]
        if self._open is None:
            message = self._open = _TextItem(self._make_item_id("msg"), len(self._output))
            self._output.append(message.build_item("in_progress"))
            added: JsonObject = {
                "output_index": message.index,
                "item": message.build_item("in_progress"),
            }
            events.append(self._build_event("output_item.added", added))
            part = {**self._build_place(message), "part": message.build_part()}
            events.append(self._build_event("content_part.added", part))
        message = self._open
        message.pieces.append(delta)
        fields: JsonObject = {**self._build_place(message), "delta": delta, "logprobs": []}
        return (*events, self._build_event("output_text.delta", fields))

    def close_text(self) -> Events:
        """End the text item, so that more text begins another one."""
        message, self._open = self._open, None
        if message is None or self._ended:
            return ()
        item = self._output[message.index] = message.build_item("completed")
        text: JsonObject = {**self._build_place(message), "text": message.text, "logprobs": []}
        part: JsonObject = {**self._build_place(message), "part": message.build_part()}
        return (
            self._build_event("output_text.done", text),
            self._build_event("content_part.done", part),
            self._build_event("output_item.done", {"output_index": message.index, "item": item}),
        )

    def add_call(self, call: HandedCall) -> Events:
        if self._ended:
            return ()
        first = self.begin_response()
        index = len(self._output)
        item: JsonObject = {
            "id": self._make_item_id("fc"),
            "call_id": call.id,
            "type": "function_call",
            "name": call.name,
        }
        completed: JsonObject = {**item, "arguments": call.arguments, "status": "completed"}
        self._output.append(completed)
        place: JsonObject = {"output_index": index, "item_id": item["id"]}
        added: JsonObject = {**item, "arguments": "", "status": "in_progress"}
        events = [self._build_event("output_item.added", {"output_index": index, "item": added})]
        if call.arguments:
            delta: JsonObject = {**place, "delta": call.arguments}
            events.append(self._build_event("function_call_arguments.delta", delta))
        done: JsonObject = {**place, "name": call.name, "arguments": call.arguments}
        events.append(self._build_event("function_call_arguments.done", done))
        events.append(
            self._build_event("output_item.done", {"output_index": index, "item": completed})
        )
        return (*first, *events)

    def fail_response(self, message: str, code: str = CODE) -> Events:
        """End the response with an error, whatever was sent of it."""
        if self._ended:
            return ()
        first = self.begin_response()
        error: JsonObject = {"code": code, "message": message}
        failed: JsonObject = {"response": {**self.build_response("failed"), "error": error}}
        self._ended = True
        return (*first, self._build_event("failed", failed), ServerEvent("done", DONE))

    def complete_response(self) -> Events:
        """End the response; the last event contains all of it."""
        if self._ended:
            return ()
        events = (*self.begin_response(), *self.close_text())
        response = self.build_response()
        self._ended = True
        status = str(response["status"])
        return (
            *events,
            self._build_event(status, {"response": response}),
            ServerEvent("done", DONE),
        )

    def build_response(self, status: str = "") -> JsonObject:
        """Build the response so far; without a ``status`` the response is complete or was cut."""
        status = status or ("incomplete" if self.reason in INCOMPLETE else "completed")
        head = self._head
        why = INCOMPLETE.get(self.reason) if status == "incomplete" else None
        metadata = head.echoed.get("metadata")
        response: JsonObject = {
            **head.echoed,
            "metadata": {**(metadata if isinstance(metadata, dict) else {}), **self.metadata},
            "id": head.response_id,
            "object": "response",
            "created_at": head.created,
            "status": status,
            "error": None,
            "incomplete_details": None if why is None else {"reason": why},
            "model": head.model,
            "output": [*self._output],
        }
        if self.usage is not None:
            response["usage"] = {
                "input_tokens": self.usage.prompt,
                "input_tokens_details": {"cached_tokens": self.usage.cached},
                "output_tokens": self.usage.completion,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": self.usage.total,
            }
        return response

    def _make_item_id(self, kind: str) -> str:
        return f"{kind}_{self._head.response_id.removeprefix('resp_')}_{len(self._output)}"

    @staticmethod
    def _build_place(message: _TextItem) -> JsonObject:
        return {"item_id": message.item_id, "output_index": message.index, "content_index": 0}

    def _build_event(self, name: str, fields: JsonObject) -> ServerEvent:
        self._sent += 1
        kind = f"response.{name}"
        return ServerEvent(kind, {"type": kind, **fields, "sequence_number": self._sent})
