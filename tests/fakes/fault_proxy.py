"""A TCP proxy on loopback that spoils chosen HTTP requests between the daemon and a fake.

``async with FaultProxy(server.url) as proxy``; ``proxy.url`` stands for the server's address.
"""

import socket
import struct
from collections import deque
from dataclasses import dataclass
from urllib.parse import urlsplit

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream
from fakes.time_limit import time_limit

from orchestrator.testing.loopback import LoopbackServer

MAX_HEAD = 65_536  # bytes of a request's head
GONE = (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError, OSError)


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one request.

    Args:
        forward: whether the server gets it.
        answer: bytes of the answer that get through before the connection ends; None for all.
        reset: end the connection with RST instead of FIN.
        hang: keep the connection open and say nothing.
        latency: seconds before anything happens.
    """

    forward: bool = True
    answer: int | None = 0
    reset: bool = False
    hang: bool = False
    latency: float = 0.0


LOST_REQUEST = Fault(forward=False)  # accepted, then dropped
LOST_ANSWER = Fault()
RESET = Fault(forward=False, reset=True)
HANG = Fault(forward=False, hang=True)


def cut(count: int) -> Fault:
    """The answer ends after so many bytes."""
    return Fault(answer=count)


def late(seconds: float) -> Fault:
    """Nothing is wrong but the time."""
    return Fault(answer=None, latency=seconds)


class FaultProxy(LoopbackServer):
    """Relays requests one at a time on each connection; ``spoiled`` counts the faults so far."""

    def __init__(self, upstream: str) -> None:
        parts = urlsplit(upstream)
        self._host, self._port = parts.hostname or "", parts.port or 80
        self._faults: deque[tuple[tuple[bytes, ...], Fault]] = deque()
        self._changed = anyio.Event()
        self.spoiled = 0

    def spoil(self, *words: str, fault: Fault, times: int = 1) -> None:
        """Let the next requests that hold all these words (in head or body) go wrong."""
        self._faults.extend([(tuple(word.encode() for word in words), fault)] * times)

    def heal(self) -> None:
        """Let no more requests go wrong."""
        self._faults.clear()

    async def spoilt(self, times: int = 1) -> None:
        """Wait until so many requests went wrong.

        Raises:
            TimeoutError: they did not.
        """
        with time_limit():
            while self.spoiled < times:
                await self._changed.wait()

    async def _serve_connection(self, client: SocketStream) -> None:
        """One connection of the client, and one of ours to the server."""
        try:
            async with (
                client,
                await anyio.connect_tcp(self._host, self._port) as server,
                anyio.create_task_group() as tasks,
            ):
                link = _Link(client, server, tasks.cancel_scope)
                tasks.start_soon(link.answers)
                requests = BufferedByteReceiveStream(client)
                while True:
                    await self._forward(link, await _request(requests))
        except* GONE:
            pass

    async def _forward(self, link: "_Link", request: bytes) -> None:
        fault = self._fault(request)
        await anyio.sleep(fault.latency)
        if fault.hang:
            await anyio.sleep_forever()
        if fault.forward:
            link.left = fault.answer
            await link.server.send(request)
        else:
            link.end(reset=fault.reset)
            await anyio.sleep_forever()

    def _fault(self, request: bytes) -> Fault:
        for entry in self._faults:
            if all(word in request for word in entry[0]):
                self._faults.remove(entry)
                self.spoiled += 1
                self._changed.set()
                self._changed = anyio.Event()
                return entry[1]
        return Fault(answer=None)


@dataclass
class _Link:
    """Both connections; ``left`` is how much of the answer may still pass, None for all."""

    client: SocketStream
    server: SocketStream
    scope: anyio.CancelScope
    left: int | None = None

    async def answers(self) -> None:
        """Relay what the server says; the end of it, or of ``left``, ends the connection."""
        try:
            async for data in self.server:
                await self.client.send(data if self.left is None else data[: self.left])
                if self.left is not None:
                    self.left -= len(data)
                    if self.left <= 0:
                        break
        except GONE:
            pass
        self.end(reset=False)

    def end(self, *, reset: bool) -> None:
        """Close both, with RST if that is wanted."""
        if reset:
            linger = struct.pack("ii", 1, 0)  # on, no time: RST
            raw = self.client.extra_attributes[SocketAttribute.raw_socket]()
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.scope.cancel()


async def _request(received: BufferedByteReceiveStream) -> bytes:
    """A whole request, so that a fault can be chosen by anything in it."""
    head = await received.receive_until(b"\r\n\r\n", MAX_HEAD) + b"\r\n\r\n"
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    return head + await received.receive_exactly(length)
