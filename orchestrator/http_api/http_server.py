"""Serve an ASGI application with uvicorn, on a socket that the daemon has bound.

Everything here loads a web server: import it only where one is needed.
"""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

MAX_HEAD = 32 * 1024  # bytes of a request's line and headers
HEAD_TIMEOUT = 10.0  # seconds for the first request of a connection to begin
GRACE = 3  # seconds that open responses have left when the server stops


class _Server(uvicorn.Server):
    """A server that leaves the process's signals to the daemon."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Protocol(H11Protocol):
    """A connection that is dropped if no request arrives on it."""

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._silence = self.loop.call_later(HEAD_TIMEOUT, self._drop_if_silent)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer with the connection."""
        self._silence.cancel()
        super().connection_lost(exc)

    def _drop_if_silent(self) -> None:
        if self.scope is None:
            self.transport.abort()


def listen(port: int) -> socket.socket:
    """Bind a port of 127.0.0.1; 0 takes a free one.

    Raises:
        OSError: the port is taken.
    """
    listener = socket.create_server(("127.0.0.1", port))
    # Connections inherit it; without it every response waits 40 ms for an acknowledgment.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


@asynccontextmanager
async def served(
    listener: socket.socket,
    app: ASGIApp,
    *,
    connections: int | None = None,
    headers: tuple[tuple[str, str], ...] = (),
) -> AsyncIterator[None]:
    """Serve ``app`` while the block runs, then let open responses end within `GRACE` seconds.

    Args:
        listener: closed when this returns.
        app: the application.
        connections: how many may be open; further ones get status 503.
        headers: what every response has.
    """
    server = _Server(
        uvicorn.Config(
            app,
            http=_Protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level=logging.CRITICAL,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=MAX_HEAD,
            headers=list(headers),
            limit_concurrency=connections,
            timeout_graceful_shutdown=GRACE,
        )
    )

    async def serve() -> None:
        # Canceled, uvicorn would keep its sockets open; it ends by `should_exit` alone.
        with anyio.CancelScope(shield=True):
            await server.serve([listener])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve)
        try:
            yield
        finally:
            server.should_exit = True
