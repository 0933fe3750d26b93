"""Serve an ASGI application with uvicorn, on a socket that the daemon has bound.

Everything here loads a web server: import it only where one is needed.
"""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import anyio
import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_HEAD = 32 * 1024  # bytes of a request's line and headers
HEAD_TIMEOUT = 10.0  # seconds for the head of a request to arrive
MAX_IDLE = 128  # connections without a request
CONNECTION = "connection"  # in the state of a request: the socket that it arrived on
GRACE = 3  # seconds that open responses have left when the server stops


class _Server(uvicorn.Server):
    """A server that leaves the process's signals to the daemon."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Protocol(H11Protocol):
    """A connection that is closed if no request head arrives in time.

    Waiting connections take no slot from requests: when there are too many, the oldest is closed.
    """

    idle_since: float | None = None
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Expect a head; make room for it."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, CONNECTION: transport.get_extra_info("socket")}
        self._start_head_timer()
        idle = [c for c in self.connections if isinstance(c, _Protocol) and c.idle_since]
        if len(idle) > MAX_IDLE:
            min(idle, key=_get_idle_since).drop_connection()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer with the connection."""
        self._stop_head_timer()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Start or stop the wait for the head of the next request."""
        super().handle_events()
        if self.conn.their_state is not h11.IDLE:
            self._stop_head_timer()
        elif self.idle_since is None:
            self._start_head_timer()

    def drop_connection(self) -> None:
        self._stop_head_timer()
        self.transport.abort()

    def _start_head_timer(self) -> None:
        self.idle_since = self.loop.time()
        self._timer = self.loop.call_later(HEAD_TIMEOUT, self.drop_connection)

    def _stop_head_timer(self) -> None:
        self.idle_since = None
        if self._timer is not None:
            self._timer.cancel()


def _get_idle_since(connection: _Protocol) -> float:
    return connection.idle_since or 0.0


@asynccontextmanager
async def serve_app(
    listener: socket.socket,
    app: ASGIApp,
    *,
    headers: tuple[tuple[str, str], ...] = (),
) -> AsyncIterator[None]:
    """Serve ``app`` while the block runs, then let open responses end within `GRACE` seconds.

    Args:
        listener: closed when this returns.
        app: the application.
        headers: those of every response.
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
            timeout_graceful_shutdown=GRACE,
        )
    )

    async def run_server() -> None:
        # Cancelled, uvicorn would keep its sockets open; it ends only by `should_exit`.
        with anyio.CancelScope(shield=True):
            await server.serve([listener])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run_server)
        try:
            yield
        finally:
            server.should_exit = True
