"""A proxy on loopback before a real model server: it changes requests, and makes answers late.

``async with ModelProxy(port) as proxy``; ``proxy.url`` stands for the server's address.
"""

import json
from collections.abc import Callable
from contextlib import suppress

import anyio
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from orchestrator.testing.loopback import MAX_HEAD, ForeignJson, LoopbackServer

GONE = (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError, OSError)
END = b"\r\n\r\n"


class ModelProxy(LoopbackServer):
    """Relays one request a connection. ``bodies`` are those that came.

    Args:
        port: of the server.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.bodies: list[ForeignJson] = []
        self.change: Callable[[ForeignJson], ForeignJson] = lambda body: body
        self.delay = 0.0  # seconds before the first byte of an answer
        self.begun = anyio.Event()  # set with the first word of an answer

    async def _serve_connection(self, stream: SocketStream) -> None:
        received = BufferedByteReceiveStream(stream)
        with suppress(*GONE):
            async with stream:
                head = (await received.receive_until(END, MAX_HEAD)).decode()
                lines = head.split("\r\n")
                sizes = [line[15:] for line in lines if line.lower().startswith("content-length:")]
                body = await received.receive_exactly(int(sizes[0])) if sizes else b""
                if body:
                    self.bodies.append(json.loads(body))
                    body = json.dumps(self.change(self.bodies[-1])).encode()
                kept = [
                    line
                    for line in lines
                    if not line.lower().startswith(("content-length:", "connection:"))
                ]
                kept += [f"content-length: {len(body)}", "connection: close"]
                await self._relay("\r\n".join(kept).encode() + END + body, stream)

    async def _relay(self, request: bytes, stream: SocketStream) -> None:
        async with await anyio.connect_tcp("127.0.0.1", self.port) as server:
            await server.send(request)
            await anyio.sleep(self.delay)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._watch_client, stream, tasks.cancel_scope)
                async for piece in server:
                    await stream.send(piece)
                    if b'"content":"' in piece:
                        self.begun.set()
                tasks.cancel_scope.cancel()

    async def _watch_client(self, stream: SocketStream, scope: anyio.CancelScope) -> None:
        """End the request when the client leaves, as a server on its own would see."""
        with suppress(*GONE):
            await stream.receive()
        scope.cancel()
