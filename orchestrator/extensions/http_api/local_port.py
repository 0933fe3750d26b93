"""Bind a local port, without importing the web server, which is slow to load."""

import socket

from orchestrator.extensions.http_api.api_settings import LOOPBACK


def bind_port(port: int, host: str = LOOPBACK) -> socket.socket:
    """Bind a port; 0 takes a free one.

    Raises:
        OSError: the port is taken, or the host is not an address of this machine.
    """
    listener = socket.create_server((host, port))
    # Connections inherit it; without it every response waits 40 ms for an acknowledgment.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
