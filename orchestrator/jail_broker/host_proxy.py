"""A local proxy that lets jailed processes reach allowed hosts only.

It speaks what HTTP clients speak to a proxy: ``CONNECT host:port``, and requests for a whole
address. It resolves names itself, and connects to the very address that it has checked.
"""

import ipaddress
import re
import socket
import threading
from collections.abc import Callable, Collection
from contextlib import suppress

from orchestrator.jail_broker.web_addresses import is_public

MAX_HEAD = 16 * 1024  # bytes of a request's head
HEAD_SECONDS = 10.0  # for each part of a head, and to connect
IDLE_SECONDS = 300.0  # without data from a host, before a check that the client is still there
MAX_AT_ONCE = 128  # connections
CHUNK = 64 * 1024
HOST = rb"([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])"
TUNNEL = re.compile(rb"CONNECT " + HOST + rb":([0-9]{1,5}) HTTP/1\.[01]")
PLAIN = re.compile(rb"([A-Z]{1,20}) http://" + HOST + rb"(?::([0-9]{1,5}))?([/?]\S*)? HTTP/1\.[01]")
OPENED = b"HTTP/1.1 200 Connection established\r\n\r\n"
FORBIDDEN, UNREACHABLE, BROKEN = "403 Forbidden", "502 Bad Gateway", "400 Bad Request"


class RefusedRequest(Exception):  # noqa: N818 - an answer, not a fault here
    """The status and text of a refusal."""

    def __init__(self, status: str, text: str) -> None:
        super().__init__(text)
        self.status = status

    def build_answer(self) -> bytes:
        text = f"{self}\n".encode()
        head = f"HTTP/1.1 {self.status}\r\nContent-Type: text/plain\r\nConnection: close\r\n"
        return f"{head}Content-Length: {len(text)}\r\n\r\n".encode() + text


class HostProxy:
    """Serves on a port of loopback, in threads, until it is closed or the process ends."""

    def __init__(
        self, allowed: Collection[str], refused: Callable[[str], object] = lambda _: None
    ) -> None:
        """Allow hosts with their ports, such as ``host:443``; ``refused`` handles all others."""
        self._allowed = frozenset(entry.lower() for entry in allowed)
        self._refused = refused
        self._room = threading.Semaphore(MAX_AT_ONCE)
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept_clients, daemon=True).start()

    def close(self) -> None:
        """Close all connections, and accept no more."""
        for one in (self._listener, *self._open):
            _close_connection(one)

    def _accept_clients(self) -> None:
        with self._listener, suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self._room.acquire(blocking=False):
                    self._open.add(client)
                    threading.Thread(target=self._serve_client, args=(client,), daemon=True).start()
                else:
                    client.close()

    def _serve_client(self, client: socket.socket) -> None:
        try:
            with client, suppress(OSError):
                self._answer_request(client)
        finally:
            self._open.discard(client)
            self._room.release()

    def _answer_request(self, client: socket.socket) -> None:
        client.settimeout(HEAD_SECONDS)
        try:
            head, rest = _read_head(client)
            place, forwarded = _parse_target(head)
            if place not in self._allowed:
                raise RefusedRequest(FORBIDDEN, f"{place} is not among the allowed hosts")  # noqa: TRY301 - one answer for all
            server = _connect_to_host(place)
        except RefusedRequest as refusal:
            self._refused(str(refusal))
            client.sendall(refusal.build_answer())
            return
        with server:
            if not forwarded:
                client.sendall(OPENED)
            server.sendall(forwarded + rest)
            _relay_bytes(client, server)


def _read_head(client: socket.socket) -> tuple[bytes, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        if len(data) > MAX_HEAD:
            raise RefusedRequest(BROKEN, "the head of the request is too long")
        part = client.recv(CHUNK)
        if not part:
            raise RefusedRequest(BROKEN, "the head of the request has no end")
        data += part
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def _parse_target(head: bytes) -> tuple[str, bytes]:
    """Return the host and port, and the head to forward; that of a tunnel is empty."""
    line, _, headers = head.partition(b"\r\n")
    tunnel, plain = TUNNEL.fullmatch(line), PLAIN.fullmatch(line)
    if tunnel:
        return _format_host_port(tunnel[1], tunnel[2]), b""
    if plain:
        return _format_host_port(plain[2], plain[3] or b"80"), _build_origin_form(plain, headers)
    raise RefusedRequest(BROKEN, "not a proxy request; it needs an absolute http address")


def _format_host_port(host: bytes, port: bytes) -> str:
    return f"{host.decode().lower().rstrip('.')}:{int(port)}"


def _build_origin_form(plain: "re.Match[bytes]", headers: bytes) -> bytes:
    """Return the head for the server, for one request a connection: no other host is reached."""
    kept = [
        line
        for line in headers.split(b"\r\n")
        if line and not line.lower().startswith((b"proxy-", b"connection:", b"host:"))
    ]
    host = plain[2] + (b":" + plain[3] if plain[3] else b"")
    path = plain[4] or b"/"
    first = plain[1] + b" " + (path if path.startswith(b"/") else b"/" + path) + b" HTTP/1.1"
    return b"\r\n".join([first, b"Host: " + host, b"Connection: close", *kept, b"", b""])


def _connect_to_host(place: str) -> socket.socket:
    host, _, port = place.rpartition(":")
    host = host.strip("[]")
    try:
        found = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise RefusedRequest(UNREACHABLE, f"{host} is unknown: {error}") from error
    addresses = [str(entry[4][0]) for entry in found]
    if not _is_address(host) and not all(map(is_public, addresses)):
        raise RefusedRequest(FORBIDDEN, f"{host} has an address that is not public")
    for address in addresses:
        with suppress(OSError):
            return socket.create_connection((address, int(port)), HEAD_SECONDS)
    raise RefusedRequest(UNREACHABLE, f"{host} does not answer")


def _is_address(host: str) -> bool:
    """Return whether agents.json names this very address, so that it may be private."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return True


def _relay_bytes(client: socket.socket, server: socket.socket) -> None:
    """Relay bytes both ways until either side ends."""
    client.settimeout(None)
    server.settimeout(IDLE_SECONDS)
    forth = threading.Thread(target=_forward_bytes, args=(client, server), daemon=True)
    forth.start()
    try:
        while True:
            try:
                data = server.recv(CHUNK)
            except TimeoutError:
                if forth.is_alive():
                    continue
                break
            if not data:
                break
            client.sendall(data)
    finally:
        _close_connection(client)
        forth.join()


def _forward_bytes(client: socket.socket, server: socket.socket) -> None:
    with suppress(OSError):
        while data := client.recv(CHUNK):
            server.sendall(data)
    with suppress(OSError):
        server.shutdown(socket.SHUT_WR)


def _close_connection(one: socket.socket) -> None:
    """Wake everything that waits for a socket, and close its connection."""
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
