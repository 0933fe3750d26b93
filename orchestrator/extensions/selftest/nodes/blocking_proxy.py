"""A network between a node and its server that loses all packets for a while."""

from contextlib import suppress

import anyio
from anyio.abc import SocketStream

from orchestrator.testing.loopback import LoopbackServer

GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, OSError)


class BlockingProxy(LoopbackServer):
    """Relays connections to a loopback port; while ``blocked`` nothing passes, but none closes."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._passes = anyio.Event()
        self._passes.set()

    @property
    def port(self) -> int:
        """The port on which the proxy listens."""
        return int(self.url.rpartition(":")[2])

    def block(self) -> None:
        self._passes = anyio.Event()

    def unblock(self) -> None:
        self._passes.set()

    async def _serve_connection(self, client: SocketStream) -> None:
        with suppress(*GONE):
            async with (
                client,
                await anyio.connect_tcp("127.0.0.1", self._port) as server,
                anyio.create_task_group() as tasks,
            ):
                scope = tasks.cancel_scope
                tasks.start_soon(self._relay_data, client, server, scope)
                await self._relay_data(server, client, scope)

    async def _relay_data(
        self, source: SocketStream, sink: SocketStream, scope: anyio.CancelScope
    ) -> None:
        with suppress(*GONE):
            async for data in source:
                await self._passes.wait()
                await sink.send(data)
        await self._passes.wait()
        scope.cancel()
