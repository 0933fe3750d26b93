"""The network that loses packets."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.abc import SocketStream
from fakes.time_limit import time_limit

from orchestrator.extensions.selftest.nodes.blocking_proxy import BlockingProxy
from orchestrator.testing.loopback import LoopbackServer


class Echo(LoopbackServer):
    """Sends back what it gets, and keeps it."""

    def __init__(self) -> None:
        self.got: list[bytes] = []

    async def _serve_connection(self, stream: SocketStream) -> None:
        async with stream:
            async for data in stream:
                self.got.append(data)
                await stream.send(data)


@asynccontextmanager
async def network() -> AsyncIterator[tuple[Echo, BlockingProxy, SocketStream]]:
    """A server, a proxy, and a connection through it."""
    async with (
        Echo() as server,
        BlockingProxy(port_of(server)) as proxy,
        await anyio.connect_tcp("127.0.0.1", proxy.port) as client,
    ):
        with time_limit():
            yield server, proxy, client


def port_of(server: Echo) -> int:
    """Where it listens."""
    return int(server.url.rpartition(":")[2])


async def test_nothing_passes_while_it_is_blocked_and_all_afterwards() -> None:
    """As packets that are sent again until they arrive."""
    async with network() as (server, proxy, client):
        await client.send(b"one")
        assert await client.receive() == b"one"
        proxy.block()
        await client.send(b"two")
        async with await anyio.connect_tcp("127.0.0.1", port_of(server)) as direct:
            await direct.send(b"past it")
            await direct.receive()
        assert server.got == [b"one", b"past it"]
        proxy.unblock()
        assert await client.receive() == b"two"


async def test_end_of_one_side_ends_the_other() -> None:
    """So that a daemon learns that its session has ended."""
    async with network() as (_, _, client):
        await client.send(b"one")
        await client.receive()
        await client.send_eof()
        with pytest.raises(anyio.EndOfStream):
            await client.receive()
