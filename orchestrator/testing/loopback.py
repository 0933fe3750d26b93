"""Base of the fake servers: a listener on loopback and minimal HTTP/1.1 with JSON bodies."""

import json
import random
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from email import message_from_bytes
from email.policy import HTTP
from typing import Any, Self, TypeAlias

import anyio
from anyio import AsyncContextManagerMixin
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

PORTS = range(20_000, 32_000)  # below those that Linux gives to programs that ask for any port
MAX_HEAD = 65_536  # bytes of a request's head
ForeignJson: TypeAlias = dict[str, Any]  # JSON of a client, which a fake does not validate


def find_free_port() -> int:
    """Return a free port on loopback that no program gets by asking for any port.

    Raises:
        OSError: all are taken.
    """
    for port in random.sample(PORTS, len(PORTS)):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise OSError("no port is free")


class LoopbackServer(AsyncContextManagerMixin):
    """``async with`` serves on a free port at ``url``; leaving it drops open connections."""

    url = ""

    async def _serve_connection(self, stream: SocketStream) -> None:
        """Serve one connection until either side ends it."""
        received = BufferedByteReceiveStream(stream)
        with suppress(anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
            async with stream:
                while True:
                    await self._send_response(stream, *await receive_request(received))

    async def _send_response(self, stream: SocketStream, path: str, body: ForeignJson) -> None:
        """Answer one request; servers with a `_serve_connection` of their own need none."""
        raise NotImplementedError

    @asynccontextmanager
    async def __asynccontextmanager__(self) -> AsyncGenerator[Self]:
        async with (
            await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
            anyio.create_task_group() as tasks,
        ):
            self.url = f"http://127.0.0.1:{listener.extra_attributes[SocketAttribute.local_port]()}"
            tasks.start_soon(listener.serve, self._serve_connection)
            yield self
            tasks.cancel_scope.cancel()


async def receive_request(received: BufferedByteReceiveStream) -> tuple[str, ForeignJson]:
    """Receive a request and return its path and body; an empty body is an empty object.

    Raises:
        EndOfStream: the client has closed the connection.
        IncompleteRead: the client closed it within a request.
    """
    text = (await received.receive_until(b"\r\n\r\n", MAX_HEAD)).decode("latin-1")
    line, *fields = text.split("\r\n")
    pairs = (field.partition(":") for field in fields)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await received.receive_exactly(int(headers.get("content-length", 0)))
    kind = headers.get("content-type", "")
    if kind.startswith("multipart/form-data"):
        return line.split()[1], parse_form(kind, body)
    return line.split()[1], json.loads(body) if body else {}


def parse_form(kind: str, body: bytes) -> ForeignJson:
    """Return the fields of a form (RFC 7578): values read as JSON or text, a file as a pair.

    The pair has the file's name and its bytes.
    """
    found: ForeignJson = {}
    head = f"Content-Type: {kind}\r\n\r\n".encode()
    for part in message_from_bytes(head + body, policy=HTTP).iter_parts():
        name = str(part.get_param("name", header="content-disposition"))
        value = bytes(part.get_payload(decode=True) or b"")
        filename = part.get_param("filename", header="content-disposition")
        if filename is not None:
            found[name] = (str(filename).replace("%22", '"'), value)
            continue
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value.decode()
    return found


def build_response(status: int, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
