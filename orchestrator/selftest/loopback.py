"""Just enough HTTP/1.1 for the fakes: JSON in over a connection that stays open."""

import json
from typing import Any, TypeAlias

from anyio.streams.buffered import BufferedByteReceiveStream

MAX_HEAD = 65_536  # bytes of a request's head
ForeignJson: TypeAlias = dict[str, Any]  # what others send; a fake takes it as it comes


async def request(received: BufferedByteReceiveStream) -> tuple[str, ForeignJson]:
    """The next request's path and its body; an empty body is an empty object.

    Raises:
        EndOfStream: the client has closed the connection.
        IncompleteRead: it did so within a request.
    """
    text = (await received.receive_until(b"\r\n\r\n", MAX_HEAD)).decode("latin-1")
    line, *fields = text.split("\r\n")
    pairs = (field.partition(":") for field in fields)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await received.receive_exactly(int(headers.get("content-length", 0)))
    return line.split()[1], json.loads(body) if body else {}


def response(status: int, body: bytes) -> bytes:
    """A whole JSON answer."""
    head = f"HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
