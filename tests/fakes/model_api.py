"""A loopback HTTP server on which the fakes of model providers stand.

It speaks just enough HTTP/1.1 for real clients, and misbehaves on command in ways that a proper
server library does not allow.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal

import anyio
import orjson
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from orchestrator.testing.loopback import LoopbackServer

MAX_HEAD = 64 * 1024
PROMPT_TOKENS = 11
DRIP_SECONDS = 0.01  # between the comments of a dripping stream

Fault = Literal["none", "hang", "cut", "broken_json", "drip", "error_event"]


@dataclass(frozen=True)
class Reply:
    """What the model says, and how the server gets it wrong.

    ``tool_calls`` are (name, arguments); arguments may be text, to be no JSON. ``finish`` is the
    provider's own word. ``chunk`` is the size of the pieces in which the body is written (0: all
    at once). ``prompt_tokens`` stand in the usage. Faults: ``hang`` never answers, ``cut`` closes
    half way, ``broken_json`` answers with half a document, ``drip`` streams comments for ever,
    ``error_event`` ends a stream with an error. A ``status`` other than 200 sends ``text`` as
    the error's message and ``kind`` as its type.
    """

    text: str = ""
    tool_calls: tuple[tuple[str, Mapping[str, Any] | str], ...] = ()
    reasoning: str = ""
    finish: str | None = None
    status: int = 200
    kind: str = "server_error"
    headers: Mapping[str, str] = field(default_factory=dict)
    chunk: int = 0
    prompt_tokens: int = PROMPT_TOKENS
    fault: Fault = "none"


@dataclass(frozen=True)
class Received:
    """A request as it came in; header names are lower-case, ``content`` is the body's bytes."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    content: bytes = b""


class ModelApi(LoopbackServer):
    """A provider on loopback: `requests` it got, `script` of replies to give.

    The script is used up first; then ``reply`` is asked, which by default echoes. ``received``
        self.pages: dict[str, dict[str, Any] | Reply] = {}
        self.lookups: list[Received] = []
        self.key = ""
    """

    def __init__(self, reply: Callable[[dict[str, Any]], Reply] | None = None) -> None:
        self.requests: list[Received] = []
        self.script: deque[Reply] = deque()
        self.received = anyio.Event()
        self.pages: dict[str, dict[str, Any] | bytes | Reply] = {}
        self.lookups: list[Received] = []
        self.key = ""
        self._reply = reply or self.echo

    def echo(self, body: dict[str, Any]) -> Reply:
        """Repeat the newest user text."""
        raise NotImplementedError

    def fields(self, headers: Mapping[str, str], content: bytes) -> dict[str, Any]:
        """What a request's body says."""
        del headers
        fields: dict[str, Any] = orjson.loads(content)
        return fields

    def document(self, body: dict[str, Any], reply: Reply) -> dict[str, Any]:
        """The whole answer."""
        raise NotImplementedError

    def answer(self, body: dict[str, Any], reply: Reply) -> tuple[str, bytes]:
        """The whole answer with its media type."""
        return "application/json", orjson.dumps(self.document(body, reply))

    def events(self, body: dict[str, Any], reply: Reply) -> list[bytes]:
        """The streamed answer, event by event."""
        raise NotImplementedError

    def error(self, reply: Reply) -> dict[str, Any]:
        """An error document."""
        raise NotImplementedError

    async def _serve_connection(self, stream: SocketStream) -> None:
        incoming = BufferedByteReceiveStream(stream)
        async with stream:
            try:
                while await self._exchange(stream, incoming):
                    pass
            except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
                return

    async def _exchange(self, stream: SocketStream, incoming: BufferedByteReceiveStream) -> bool:
        """Answer one request; false when the connection must be closed."""
        head = (await incoming.receive_until(b"\r\n\r\n", MAX_HEAD)).decode("latin-1")
        line, *fields = head.split("\r\n")
        method, path, _ = line.split(" ")
        pairs = (field.partition(":") for field in fields)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        content = await incoming.receive_exactly(int(headers.get("content-length", "0")))
        if self.key and self.key not in (
            headers.get("x-api-key"),
            headers.get("authorization", "").removeprefix("Bearer "),
        ):
            refusal = self.error(Reply("Incorrect API key provided", status=401))
            await _send(stream, 401, orjson.dumps(refusal))
            return True
        if method == "GET":
            self.lookups.append(Received(path, headers, {}))
            found = self.pages.get(path)
            if isinstance(found, Reply):
                await _send(stream, found.status, orjson.dumps(self.error(found)))
            elif isinstance(found, bytes):
                await _send(stream, 200, found, {"content-type": "image/png"})
            else:
                await _send(stream, 404 if found is None else 200, orjson.dumps(found))
            return True
        request = Received(path, headers, self.fields(headers, content), content)
        self.requests.append(request)
        self.received.set()
        self.received = anyio.Event()
        reply = self.script.popleft() if self.script else self._reply(request.body)
        return await self._answer(stream, request.body, reply)

    async def _answer(self, stream: SocketStream, body: dict[str, Any], reply: Reply) -> bool:
        if reply.fault == "hang":
            await anyio.sleep_forever()
        if reply.status != HTTPStatus.OK:
            content = orjson.dumps(self.error(reply))
            await _send(stream, reply.status, content, reply.headers)
            return True
        if not body.get("stream"):
            kind, content = self.answer(body, reply)
            half = content[: len(content) // 2]
            sent = half if reply.fault == "broken_json" else content
            if reply.fault == "cut":
                await stream.send(_head(200, {"content-length": str(len(content))}) + half)
                return False
            await _send(stream, 200, sent, {"content-type": kind, **reply.headers})
            return True
        return await self._stream(stream, body, reply)

    async def _stream(self, stream: SocketStream, body: dict[str, Any], reply: Reply) -> bool:
        events = self.events(body, reply)
        if reply.fault in {"cut", "drip", "error_event"}:
            events = events[: len(events) // 2]
        if reply.fault == "error_event":
            events.append(orjson.dumps(self.error(reply)))
        frames = [self.frame(event) for event in events]
        if reply.fault == "broken_json":
            frames[-2] = frames[-2].rstrip()[:-1] + b"\n\n"
        content = b"".join(frames)
        kind = {"content-type": "text/event-stream", "transfer-encoding": "chunked"}
        await stream.send(_head(200, {**kind, **reply.headers}))
        size = reply.chunk or len(content)
        for start in range(0, len(content), size):
            await _send_chunk(stream, content[start : start + size])
        while reply.fault == "drip":
            await _send_chunk(stream, b": waiting\n\n")
            await anyio.sleep(DRIP_SECONDS)
        if reply.fault == "cut":
            return False
        await stream.send(b"0\r\n\r\n")
        return True

    def frame(self, event: bytes) -> bytes:
        """An event as it stands in the stream."""
        return b"data: " + event + b"\n\n"


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    fields = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} Fake\r\n{fields}\r\n".encode()


async def _send(
    stream: SocketStream, status: int, content: bytes, headers: Mapping[str, str] | None = None
) -> None:
    kind = {"content-type": "application/json", "content-length": str(len(content))}
    await stream.send(_head(status, {**kind, **(headers or {})}) + content)


async def _send_chunk(stream: SocketStream, content: bytes) -> None:
    await stream.send(f"{len(content):x}\r\n".encode() + content + b"\r\n")
