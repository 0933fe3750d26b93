"""A proxy on this machine that lets commands reach the hosts of a list, and no others.

It runs in the workspace's server. The jail of a command leads every connection of the command here.
"""

import re
import socket
import threading
from collections.abc import Iterable
from contextlib import suppress

MAX_HEAD = 16 * 1024  # bytes of a request's head
HEAD_SECONDS = 10.0
IDLE_SECONDS = 300.0
MAX_AT_ONCE = 64  # connections
CHUNK = 64 * 1024
TUNNEL = re.compile(rb"CONNECT ([A-Za-z0-9.-]{1,253}):([0-9]{1,5}) HTTP/1\.[01]")
PLAIN = re.compile(
    rb"([A-Z]{1,20}) http://([A-Za-z0-9.-]{1,253})(?::([0-9]{1,5}))?(\S*) HTTP/1\.[01]"
)
REFUSED = b"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n%b"
FAILED = b"HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n"
OPENED = b"HTTP/1.1 200 Connection established\r\n\r\n"


class CommandProxy:
    """Serves on a port of loopback, in threads, for as long as the process lives."""

    def __init__(self, allowed: Iterable[str]) -> None:
        """Allow hosts with their ports: ``host:443``."""
        self._allowed = frozenset(entry.lower() for entry in allowed)
        self._room = threading.Semaphore(MAX_AT_ONCE)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._room.acquire(blocking=False):
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()
            else:
                client.close()

    def _serve(self, client: socket.socket) -> None:
        try:
            with client, suppress(OSError):
                self._relay(client)
        finally:
            self._room.release()

    def _relay(self, client: socket.socket) -> None:
        client.settimeout(HEAD_SECONDS)
        head, rest = _head(client)
        line, _, headers = head.partition(b"\r\n")
        tunnel, plain = TUNNEL.fullmatch(line), PLAIN.fullmatch(line)
        found = tunnel or plain
        if found is None:
            return
        host, port = (found[1], found[2]) if tunnel else (found[2], found[3] or b"80")
        place = f"{host.decode().lower().rstrip('.')}:{int(port)}"
        if place not in self._allowed:
            client.sendall(REFUSED % f"{place} is not among the hosts of this workspace\n".encode())
            return
        try:
            server = socket.create_connection((host.decode(), int(port)), HEAD_SECONDS)
        except OSError:
            client.sendall(FAILED)
            return
        with server:
            if tunnel:
                client.sendall(OPENED)
                server.sendall(rest)
            elif plain is not None:
                server.sendall(_origin_form(plain, headers) + rest)
            _pump_both(client, server)


def _head(client: socket.socket) -> tuple[bytes, bytes]:
    data = b""
    while b"\r\n\r\n" not in data and len(data) < MAX_HEAD:
        part = client.recv(CHUNK)
        if not part:
            break
        data += part
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def _origin_form(plain: "re.Match[bytes]", headers: bytes) -> bytes:
    """Return the head for the server: one request a connection, so that no other host is asked."""
    kept = [
        line
        for line in headers.split(b"\r\n")
        if line and not line.lower().startswith((b"proxy-", b"connection:", b"host:"))
    ]
    host = plain[2] + (b":" + plain[3] if plain[3] else b"")
    first = plain[1] + b" " + (plain[4] or b"/") + b" HTTP/1.1"
    return b"\r\n".join([first, b"Host: " + host, b"Connection: close", *kept, b"", b""])


def _pump_both(client: socket.socket, server: socket.socket) -> None:
    for side in (client, server):
        side.settimeout(IDLE_SECONDS)
    back = threading.Thread(target=_pump, args=(server, client), daemon=True)
    back.start()
    _pump(client, server)
    back.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(CHUNK):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
