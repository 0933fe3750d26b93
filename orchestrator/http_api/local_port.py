"""Bind a port of this machine, apart from the web server, which takes long to load."""

import socket


def listen(port: int) -> socket.socket:
    """Bind a port of 127.0.0.1; 0 takes a free one.

    Raises:
        OSError: the port is taken.
    """
    listener = socket.create_server(("127.0.0.1", port))
    # Connections inherit it; without it every response waits 40 ms for an acknowledgment.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
