"""A web server with one answer, which may be a proxy, and hostile."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
from fakes.time_limit import time_limit

from thinker.http.web_client import WebClient

HEAD = b"HTTP/1.1 200 OK\r\nset-cookie: a=b\r\ncontent-length: %d\r\n%b\r\n"
ANSWER = HEAD % (2, b"") + b"ok"


class Listener:
    """A web server with one answer for everything that keeps what it receives.

    With ``tunnels`` it is a proxy, too. ``endless`` follows the answer for ever. What is behind
    ``cut`` is sent when the rest was read.
    """

    def __init__(
        self,
        answer: bytes = ANSWER,
        *,
        tunnels: ssl.SSLContext | None = None,
        endless: bytes = b"",
        cut: int = 0,
    ) -> None:
        self._answer, self._tunnels, self._endless, self._cut = answer, tunnels, endless, cut
        self.port = 0
        self.heads: list[str] = []
        self.bodies: list[bytes] = []
        self.connections = 0
        self.asked, self.ended = anyio.Event(), anyio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""
        self.connections += 1
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                self.heads.append(head.lower())
                self.asked.set()
                length = head.lower().partition("content-length: ")[2].partition("\r\n")[0]
                self.bodies.append(await reader.readexactly(int(length or 0)))
                if head.startswith("CONNECT") and self._tunnels is not None:
                    writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
                    await writer.start_tls(self._tunnels)
                    continue
                if self._cut:
                    writer.write(self._answer[: self._cut])
                    await anyio.wait_all_tasks_blocked()
                writer.write(self._answer[self._cut :])
                while self._endless:
                    writer.write(self._endless)
                    await writer.drain()
        writer.close()
        with suppress(ConnectionError, ssl.SSLError):
            await writer.wait_closed()
        self.ended.set()


@asynccontextmanager
async def listening(listener: Listener, tls: ssl.SSLContext | None = None) -> AsyncIterator[None]:
    """Run a server, bounded."""
    async with await asyncio.start_server(listener.serve, "127.0.0.1", 0, ssl=tls) as server:
        listener.port = server.sockets[0].getsockname()[1]
        with time_limit():
            yield


async def posted(
    url: str, listener: Listener, times: int = 1, tls: ssl.SSLContext | None = None
) -> Listener:
    """Return what a listener receives from this many posts, each read to its end."""
    async with listening(listener, tls):
        client = WebClient(connect=5.0, read=5.0)
        for _ in range(times):
            sent = await client.send("POST", url.format(listener.port), {"x-own": "k"}, b"{}")
            assert (sent.status, await sent.read(2)) == (200, b"ok")
        client.close()
        await listener.ended.wait()
    return listener
