"""The socket that passes listener and connections between the supervisor and the page."""

import itertools
import socket
from contextlib import suppress

import anyio
from starlette.requests import Request

from orchestrator.extensions.page.page_wire import NUMBER
from orchestrator.web.http_server import CONNECTION


class DescriptorChannel:
    """The page's end of the socket."""

    def __init__(self, wire: socket.socket) -> None:
        self._wire = wire
        self._numbers = itertools.count(1)

    async def receive_listener(self) -> socket.socket:
        """Return the listener that the supervisor sent."""
        self._wire.setblocking(False)  # noqa: FBT003 - the standard library takes it by position
        await anyio.wait_readable(self._wire)
        _, received, _, _ = socket.recv_fds(self._wire, 16, 1)
        return socket.socket(fileno=received[0])

    def send_connection(self, request: Request) -> int:
        """Send the supervisor a request's connection by a unix socket; return its number.

        If the connection has closed, the supervisor finds nothing under the number.
        """
        number = next(self._numbers)
        connection = getattr(request.state, CONNECTION, None)
        if connection is not None and connection.family == socket.AF_UNIX:
            with suppress(OSError, ValueError):  # the browser has gone, or many come at once
                label = number.to_bytes(NUMBER)
                socket.send_fds(self._wire, [label], [connection.fileno()])
        return number
