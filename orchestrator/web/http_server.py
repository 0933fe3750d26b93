"""Serve an ASGI application with uvicorn, on a socket that the daemon has bound.

Everything here loads a web server: import it only where one is needed.
"""

import asyncio
import fcntl
import logging
import socket
import sys
import termios
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import anyio
import h11
from starlette.types import ASGIApp
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import Server

MAX_HEAD = 32 * 1024  # bytes of a request's line and headers
HEAD_TIMEOUT = 10.0  # seconds for the head of a request to arrive
MAX_IDLE = 128  # connections without a request
MAX_FRESH = 512  # of these, before further ones are refused
PATIENCE = 1.0  # seconds in which a connection may be silent without being in the way
LINGER = 2.0  # seconds for a refused client to read the answer
REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
    b"Connection: close\r\n\r\n"
)
CONNECTION = "connection"  # in the state of a request: the socket that it arrived on
GRACE = 3  # seconds that open responses have left when the server stops


class _Server(Server):
    """A server that leaves the process's signals to the daemon."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Protocol(H11Protocol):
    """A connection that is closed if no request head arrives in time.

    Waiting connections take no slot from requests: when there are too many, the oldest is closed
    whose client is slow. One whose head is in its socket is a request that the server has not read.
    """

    idle_since: float | None = None
    has_sent = False
    _refused = False
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Expect a head; make room for it."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, CONNECTION: transport.get_extra_info("socket")}
        self._start_head_timer()
        idle = [c for c in self.connections if isinstance(c, _Protocol) and c.idle_since]
        if len(idle) > MAX_IDLE:
            idle.sort(key=_get_idle_since)
            slow = next((connection for connection in idle if connection.is_slow()), None)
            if slow is not None:
                slow.drop_connection()
            elif len(idle) > MAX_FRESH:
                self.refuse_connection()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer with the connection."""
        self._stop_head_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read a part of a request; what a refused client sends is not read."""
        self.has_sent = True
        if not self._refused:
            super().data_received(data)

    def is_slow(self) -> bool:
        """Return whether the client has begun a head or was silent for long, and sends nothing."""
        late = self.has_sent or self.loop.time() - (self.idle_since or 0.0) >= PATIENCE
        return late and not _count_unread_bytes(self.transport)

    def refuse_connection(self) -> None:
        """Answer 503 before the head, and leave the client time to read it."""
        self._stop_head_timer()
        self._refused = True
        self.transport.write(REFUSAL)
        self.transport.write_eof()
        self._timer = self.loop.call_later(LINGER, self.drop_connection)

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


def _count_unread_bytes(transport: asyncio.Transport) -> int:
    """Return the number of bytes that have arrived and were not read."""
    sock = transport.get_extra_info("socket")
    if sock is None or sock.fileno() < 0:
        return 0
    return int.from_bytes(fcntl.ioctl(sock, termios.FIONREAD, bytes(4)), sys.byteorder)


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
        Config(
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
