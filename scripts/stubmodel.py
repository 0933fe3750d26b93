"""A stub of an OpenAI-compatible model for the benches, which answers at once."""

import asyncio
import ssl
from collections.abc import Callable

import orjson

USAGE = {"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11}


async def listen(
    answer: Callable[[bytes], bytes], tls: ssl.SSLContext | None = None
) -> tuple[asyncio.Server, int]:
    """Serve on a free port of loopback; ``answer`` makes a response of a request's body."""

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
                writer.write(answer(await reader.readexactly(int(length or 0))))
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(connection, "127.0.0.1", 0, limit=1 << 24, ssl=tls)
    return server, server.sockets[0].getsockname()[1]


async def serve(answer: Callable[[bytes], bytes]) -> None:
    """Print the port and serve until killed, for a stub in its own process."""
    server, port = await listen(answer)
    print(port, flush=True)
    await server.serve_forever()


def call_of(name: str, arguments: str, identity: str) -> dict:
    """Return an assistant message that calls a tool."""
    function = {"name": name, "arguments": arguments}
    call = {"index": 0, "id": identity, "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def completion(message: dict, *, streamed: bool) -> bytes:
    """Return the HTTP response to a chat completion, whole or as a stream of one chunk."""
    finish = "tool_calls" if "tool_calls" in message else "stop"
    choice = {"index": 0, "finish_reason": finish, "delta" if streamed else "message": message}
    data = orjson.dumps({"id": "x", "model": "stub", "choices": [choice], "usage": USAGE})
    if streamed:
        return response(b"data: " + data + b"\n\ndata: [DONE]\n\n", b"text/event-stream")
    return response(data)


def response(data: bytes, kind: bytes = b"application/json") -> bytes:
    """Return an HTTP response with this body."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n"
    return head % (kind, len(data)) + data
