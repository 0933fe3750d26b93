"""Bind a port of this machine, apart from the web server, which takes long to load."""

import socket

from orchestrator.agentsfile.agents_file import LOOPBACK


def listen(port: int, host: str = LOOPBACK) -> socket.socket:
    """Bind a port; 0 takes a free one.

    Raises:
        OSError: the port is taken, or the host is no address of this machine.
    """
    listener = socket.create_server((host, port))
    # Connections inherit it; without it every response waits 40 ms for an acknowledgment.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
