"""A way to a daemon on which the first answer to each Idempotency-Key is lost."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

KEY = re.compile(rb"\r\nidempotency-key: *([^\r]+)\r\n", re.IGNORECASE)
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)
MAX_HEAD = 64 * 1024


@asynccontextmanager
async def relay(port: int) -> AsyncIterator[int]:
    """Listen on a free port of loopback, which is yielded, for what listens on ``port``."""
    seen: set[bytes] = set()

    async def connection(client: SocketStream) -> None:
        async with client, await anyio.connect_tcp("127.0.0.1", port) as server:
            try:
                key = await forward(client, server)
                answer = await server.receive()
                if key in seen:
                    while True:
                        await client.send(answer)
                        answer = await server.receive()
                seen.add(key)
            except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
                return

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, connection)
        yield int(
            listener.extra(SocketAttribute.local_port)  # noqa: S610 - not of a database
        )
        tasks.cancel_scope.cancel()


async def forward(client: SocketStream, server: SocketStream) -> bytes:
    """Send on one request, the last of its connection, and return its key."""
    incoming = BufferedByteReceiveStream(client)
    head = await incoming.receive_until(b"\r\n\r\n", MAX_HEAD)
    await server.send(
        re.sub(rb"(?i)\r\nconnection: [^\r]+", b"", head) + b"\r\nconnection: close\r\n\r\n"
    )
    found = LENGTH.search(head + b"\r\n")
    if found is not None:
        await server.send(await incoming.receive_exactly(int(found[1])))
    key = KEY.search(head + b"\r\n")
    return key[1] if key is not None else b""
