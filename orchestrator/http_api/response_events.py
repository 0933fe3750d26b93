"""A Responses answer, and the event stream of one (seed 003): what came, as the events to send.

Pure: it is fed with what an agent said and called, in order, and returns server-sent events. The
events are those of the seed's stream; beside them stand those that OpenAI's own clients need to
put an answer together (items and parts that begin and end).
"""

from dataclasses import dataclass, field
from typing import TypeAlias

from orchestrator.journal.turns.api_requests import HandedCall
from thinker.protocol.messages import JsonObject, Usage

CODE = "stream_adapter_error"  # the code of the system that the seed describes
DONE = "[DONE]"
INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


@dataclass(frozen=True)
class ServerEvent:
    """One server-sent event; ``data`` is a JSON object, or the end mark."""

    event: str
    data: JsonObject | str


Events: TypeAlias = tuple[ServerEvent, ...]


@dataclass(frozen=True)
class ResponseHead:
    """What is known of a response before it begins; ``created`` is seconds since the epoch.

    ``asked`` are fields of the request that clients expect in the response.
    """

    response_id: str
    model: str
    created: int
    asked: JsonObject


@dataclass
class _Message:
    """An item of text that is being written, piece by piece."""

    item_id: str
    index: int
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self.pieces)

    def part(self) -> JsonObject:
        """Its one part."""
        return {"type": "output_text", "text": self.text, "annotations": [], "logprobs": []}

    def item(self, status: str) -> JsonObject:
        """The item as it is now; empty while it is in progress."""
        return {
            "id": self.item_id,
            "type": "message",
            "role": "assistant",
            "status": status,
            "content": [] if status == "in_progress" else [self.part()],
        }


class ResponseStream:
    """One answer; after `fail` or `complete` it has nothing more to say."""

    def __init__(self, head: ResponseHead) -> None:
        self._head = head
        self._sent = 0
        self._output: list[JsonObject] = []
        self._message: _Message | None = None
        self._usage: Usage | None = None
        self._reason: str | None = None
        self._ended = False
        self._metadata: JsonObject = {}

    def begin(self) -> Events:
        """The first events, unless they were sent."""
        if self._sent:
            return ()
        begun: JsonObject = {"response": self._response("in_progress")}
        return (self._event("created", begun), self._event("in_progress", begun))

    def text(self, delta: str) -> Events:
        """More of the answer's text."""
        if self._ended or not delta:
            return ()
        events = [*self.begin()]
        if self._message is None:
            message = self._message = _Message(self._id("msg"), len(self._output))
            self._output.append(message.item("in_progress"))
            added: JsonObject = {"output_index": message.index, "item": message.item("in_progress")}
            events.append(self._event("output_item.added", added))
            part = {**self._place(message), "part": message.part()}
            events.append(self._event("content_part.added", part))
        message = self._message
        message.pieces.append(delta)
        fields: JsonObject = {**self._place(message), "delta": delta, "logprobs": []}
        return (*events, self._event("output_text.delta", fields))

    def close_text(self) -> Events:
        """The text so far is whole; what follows is another item."""
        message, self._message = self._message, None
        if message is None or self._ended:
            return ()
        item = self._output[message.index] = message.item("completed")
        whole: JsonObject = {**self._place(message), "text": message.text, "logprobs": []}
        part: JsonObject = {**self._place(message), "part": message.part()}
        return (
            self._event("output_text.done", whole),
            self._event("content_part.done", part),
            self._event("output_item.done", {"output_index": message.index, "item": item}),
        )

    def call(self, call: HandedCall) -> Events:
        """A call of one of the client's functions, whole."""
        if self._ended:
            return ()
        begun = self.begin()
        index = len(self._output)
        item: JsonObject = {
            "id": self._id("fc"),
            "call_id": call.id,
            "type": "function_call",
            "name": call.name,
        }
        whole: JsonObject = {**item, "arguments": call.arguments, "status": "completed"}
        self._output.append(whole)
        at: JsonObject = {"output_index": index, "item_id": item["id"]}
        added: JsonObject = {**item, "arguments": "", "status": "in_progress"}
        events = [self._event("output_item.added", {"output_index": index, "item": added})]
        if call.arguments:
            delta: JsonObject = {**at, "delta": call.arguments}
            events.append(self._event("function_call_arguments.delta", delta))
        done: JsonObject = {**at, "name": call.name, "arguments": call.arguments}
        events.append(self._event("function_call_arguments.done", done))
        events.append(self._event("output_item.done", {"output_index": index, "item": whole}))
        return (*begun, *events)

    def usage(self, usage: Usage) -> None:
        """What the answer used; it goes out with its end."""
        self._usage = usage

    def finished(self, reason: str) -> None:
        """Why the model ended, in the words of chat completions."""
        self._reason = reason

    def remark(self, metadata: JsonObject) -> None:
        """What the response's metadata says beside the client's own."""
        self._metadata |= metadata

    def fail(self, message: str, code: str = CODE) -> Events:
        """The answer cannot be given, whatever of it was sent."""
        if self._ended:
            return ()
        begun = self.begin()
        error: JsonObject = {"code": code, "message": message}
        failed: JsonObject = {"response": {**self._response("failed"), "error": error}}
        self._ended = True
        return (*begun, self._event("failed", failed), ServerEvent("done", DONE))

    def complete(self) -> Events:
        """The end, with the whole response."""
        if self._ended:
            return ()
        events = (*self.begin(), *self.close_text())
        whole = self.response()
        self._ended = True
        kind = str(whole["status"])
        return (*events, self._event(kind, {"response": whole}), ServerEvent("done", DONE))

    def response(self) -> JsonObject:
        """The whole response."""
        return self._response("incomplete" if self._reason in INCOMPLETE else "completed")

    def _response(self, status: str) -> JsonObject:
        head = self._head
        why = INCOMPLETE.get(self._reason or "") if status == "incomplete" else None
        asked = head.asked.get("metadata")
        response: JsonObject = {
            **head.asked,
            "metadata": {**(asked if isinstance(asked, dict) else {}), **self._metadata},
            "id": head.response_id,
            "object": "response",
            "created_at": head.created,
            "status": status,
            "error": None,
            "incomplete_details": None if why is None else {"reason": why},
            "model": head.model,
            "output": [*self._output],
        }
        if self._usage is not None:
            response["usage"] = {
                "input_tokens": self._usage.prompt,
                "input_tokens_details": {"cached_tokens": self._usage.cached},
                "output_tokens": self._usage.completion,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": self._usage.total,
            }
        return response

    def _id(self, kind: str) -> str:
        return f"{kind}_{self._head.response_id.removeprefix('resp_')}_{len(self._output)}"

    @staticmethod
    def _place(message: _Message) -> JsonObject:
        return {"item_id": message.item_id, "output_index": message.index, "content_index": 0}

    def _event(self, name: str, fields: JsonObject) -> ServerEvent:
        self._sent += 1
        kind = f"response.{name}"
        return ServerEvent(kind, {"type": kind, **fields, "sequence_number": self._sent})
