"""Fakes of OpenAI's API on loopback: ``async with OpenAIApi() as api``.

`OpenAIApi` completes chats; `MediaApi` hears, speaks and draws.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from email import message_from_bytes
from email.policy import HTTP
from typing import Any

import orjson
from fakes.model_api import ModelApi, Received, Reply

COMPLETION_TOKENS = 7
CACHED_TOKENS = 3


class OpenAIApi(ModelApi):
    """``api.url + "/v1"`` is the base address; echoes unless it is told otherwise."""

    def __init__(self, reply: Callable[[dict[str, Any]], Reply] | None = None) -> None:
        super().__init__(reply)
        models = [{"id": "fake-model", "object": "model"}]
        self.pages["/v1/models"] = {"object": "list", "data": models}

    def echo(self, body: dict[str, Any]) -> Reply:
        """Repeat the newest user text."""
        said = next(m["content"] for m in reversed(body["messages"]) if m["role"] == "user")
        return Reply(f"echo: {said}")

    def document(self, body: dict[str, Any], reply: Reply) -> dict[str, Any]:
        """A ``chat.completion``."""
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        if reply.reasoning:
            message["reasoning_content"] = reply.reasoning
        if reply.tool_calls:
            message["tool_calls"] = _calls(reply)
        return {
            **_envelope(body, "chat.completion"),
            "choices": [{"index": 0, "message": message, "finish_reason": _finish(reply)}],
            "usage": _usage(reply),
        }

    def events(self, body: dict[str, Any], reply: Reply) -> list[bytes]:
        """Chunks: the role, words, call by call in halves, the finish, the usage, ``[DONE]``."""
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        if reply.reasoning:
            deltas.append({"reasoning_content": reply.reasoning})
        deltas += [{"content": word} for word in _words(reply.text)]
        for index, call in enumerate(_calls(reply)):
            text = call["function"]["arguments"]
            middle = len(text) // 2
            named = {**call, "function": {**call["function"], "arguments": text[:middle]}}
            deltas.append({"tool_calls": [{"index": index, **named}]})
            rest = {"index": index, "function": {"arguments": text[middle:]}}
            deltas.append({"tool_calls": [rest]})
        choices: list[list[dict[str, Any]]] = [
            [{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas
        ]
        choices.append([{"index": 0, "delta": {}, "finish_reason": _finish(reply)}])
        envelope = _envelope(body, "chat.completion.chunk")
        chunks: list[dict[str, Any]] = [{**envelope, "choices": choice} for choice in choices]
        if body.get("stream_options", {}).get("include_usage"):
            chunks.append({**envelope, "choices": [], "usage": _usage(reply)})
        return [*map(orjson.dumps, chunks), b"[DONE]"]

    def error(self, reply: Reply) -> dict[str, Any]:
        """OpenAI's error object."""
        return {"error": {"message": reply.text, "type": reply.kind, "code": None}}


def _envelope(body: dict[str, Any], kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": body["model"]}


def _usage(reply: Reply) -> dict[str, Any]:
    return {
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": COMPLETION_TOKENS,
        "total_tokens": reply.prompt_tokens + COMPLETION_TOKENS,
        "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS},
    }


def _finish(reply: Reply) -> str:
    return reply.finish or ("tool_calls" if reply.tool_calls else "stop")


def _calls(reply: Reply) -> list[dict[str, Any]]:
    return [
        {
            "id": f"call_fake_{index}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": given if isinstance(given, str) else orjson.dumps(given).decode(),
            },
        }
        for index, (name, given) in enumerate(reply.tool_calls)
    ]


def _words(text: str) -> list[str]:
    return re.findall(r"\S*\s|\S+", text)


ENDINGS = ("flac", "m4a", "mp3", "mp4", "mpeg", "mpga", "oga", "ogg", "wav", "webm")
HEADER = b"OggS" + bytes(24) + b"OpusHead"  # as a recording of this fake begins
RATE = 48_000  # of Opus
MOST_INPUT = 4096  # characters
MOST_PICTURES = 10
PNG = b"\x89PNG\r\n\x1a\n"
INPUT_TOKENS, OUTPUT_TOKENS = 14, 45


def recording(text: str, seconds: float = 2.0) -> bytes:
    """A recording in which a text is said."""
    last = b"OggS\0\4" + round(seconds * RATE).to_bytes(8, "little") + bytes(14)
    return HEADER + text.encode() + b"\0" + last


def said(sound: bytes) -> str:
    """What is said in a recording."""
    return sound.removeprefix(HEADER).partition(b"\0")[0].decode()


class MediaApi(ModelApi):
    """``/audio/transcriptions``, ``/audio/speech`` and ``/images/generations`` at ``/v1``.

    It refuses what OpenAI refuses. A reply's text is what it hears instead of what is said.
    ``base64_alone`` refuses to be asked for a format of pictures, ``links`` answers with links to
    them, and ``sound`` replaces what it speaks.
    """

    def __init__(self, reply: Callable[[dict[str, Any]], Reply] | None = None) -> None:
        super().__init__(reply)
        self.base64_alone = False
        self.links = ""
        self.sound: bytes | None = None

    def asked(self, path: str) -> list[Received]:
        """The requests for one path below ``/v1``."""
        return [request for request in self.requests if request.path == f"/v1/{path}"]

    def echo(self, body: dict[str, Any]) -> Reply:
        """Refuse what is wrong with a request."""
        problem = _problem(body, base64_alone=self.base64_alone)
        return Reply(problem, status=400, kind="invalid_request_error") if problem else Reply()

    def fields(self, headers: Mapping[str, str], content: bytes) -> dict[str, Any]:
        """The fields of a form, or of JSON; a file is its name and its content."""
        kind = headers.get("content-type", "")
        if not kind.startswith("multipart/form-data"):
            return super().fields(headers, content)
        form = message_from_bytes(f"content-type: {kind}\r\n\r\n".encode() + content, policy=HTTP)
        found: dict[str, Any] = {}
        for part in form.iter_parts():
            data = part.get_payload(decode=True)
            assert isinstance(data, bytes)
            name = str(part.get_param("name", header="content-disposition"))
            file = part.get_filename()
            found[name] = data.decode() if file is None else (file, data)
        return found

    def answer(self, body: dict[str, Any], reply: Reply) -> tuple[str, bytes]:
        """A transcription, a speech, or pictures."""
        json = "application/json"
        if "file" in body:
            text = reply.text or said(body["file"][1])
            used = {"type": "tokens", "input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS}
            return json, orjson.dumps({"text": text, "usage": used})
        if "input" in body:
            sound = recording(body["input"]) if self.sound is None else self.sound
            return "audio/ogg", sound
        pictures = [PNG + f"{body['prompt']} {number}".encode() for number in range(body["n"])]
        used = {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS}
        if not self.links:
            data = [{"b64_json": b64encode(picture).decode()} for picture in pictures]
            return json, orjson.dumps({"created": 1, "data": data, "usage": used})
        for number, picture in enumerate(pictures):
            self.pages[f"/pictures/{number}.png"] = picture
        data = [{"url": f"{self.links}/pictures/{number}.png"} for number in range(body["n"])]
        return json, orjson.dumps({"created": 1, "data": data})

    def error(self, reply: Reply) -> dict[str, Any]:
        """OpenAI's error object."""
        return {"error": {"message": reply.text, "type": reply.kind, "code": None}}


def _problem(body: dict[str, Any], *, base64_alone: bool) -> str:
    """What OpenAI has against a request; empty if nothing."""
    if not body.get("model"):
        return "you must provide a model parameter"
    if "prompt" in body:
        if base64_alone and "response_format" in body:
            return "Unknown parameter: 'response_format'."
        sized = re.fullmatch(r"\d+x\d+", body.get("size", "")) is not None
        return "" if sized and 1 <= body["n"] <= MOST_PICTURES else "Invalid size or n"
    if "input" in body:
        spoken = 0 < len(body["input"]) <= MOST_INPUT and body.get("voice")
        return "" if spoken else "Invalid input or voice"
    name, data = body.get("file", ("", b""))
    if not name.endswith(tuple(f".{ending}" for ending in ENDINGS)):
        return f"Unrecognized file format. Supported formats: {list(ENDINGS)}"
    return "" if data else "Audio file is too short."
