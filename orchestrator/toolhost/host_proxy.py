"""A proxy for one server: it connects to the hosts that agents.json allows, and to no others.

It speaks what HTTP clients speak to a proxy: ``CONNECT host:port``, and requests for a whole
address. It looks names up itself, and connects to the address that it has judged.
"""

import ipaddress
import socket
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

import anyio
import structlog
from anyio.abc import SocketAttribute, SocketStream

MAX_HEAD = 16 * 1024  # bytes
HEAD_TIMEOUT = 10.0  # seconds for the head of a request, and to connect
CHUNK = 64 * 1024
MAX_CONNECTIONS = 200
HTTP_PORT = 80
FORBIDDEN, UNREACHABLE, BROKEN = "403 Forbidden", "502 Bad Gateway", "400 Bad Request"
LOST = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, OSError)
log = structlog.get_logger()


class RefusedRequest(Exception):  # noqa: N818 - an answer, not a fault here
    """The answer's status and text."""

    def __init__(self, status: str, text: str) -> None:
        super().__init__(text)
        self.status = status


@asynccontextmanager
async def proxy(server: str, allowed: Collection[str]) -> AsyncIterator[int]:
    """Serve on loopback while the block lasts; yield the port. ``allowed`` are "host:port"."""
    limit = anyio.CapacityLimiter(MAX_CONNECTIONS)

    async def serve(client: SocketStream) -> None:
        with suppress(*LOST):
            async with limit, client:
                await _answer(client, server, allowed)

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        yield int(listener.extra_attributes[SocketAttribute.local_port]())
        tasks.cancel_scope.cancel()


async def _answer(client: SocketStream, server: str, allowed: Collection[str]) -> None:
    try:
        with anyio.fail_after(HEAD_TIMEOUT):
            head, rest = await _head(client)
            place, forwarded = _target(head)
            _check(place, allowed)
            upstream = await _connect(place)
    except RefusedRequest as refusal:
        log.warning("mcp_host_refused", server=server, problem=str(refusal))
        await _refuse(client, refusal)
        return
    except TimeoutError:
        return
    async with upstream:
        if forwarded:
            await upstream.send(forwarded + rest)
        else:
            await client.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
            if rest:
                await upstream.send(rest)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_relay, client, upstream)
            await _relay(upstream, client)
            tasks.cancel_scope.cancel()


def _check(place: str, allowed: Collection[str]) -> None:
    if place not in allowed:
        raise RefusedRequest(FORBIDDEN, f"{place} is not in the sandbox of this server")


async def _head(client: SocketStream) -> tuple[bytes, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        if len(data) > MAX_HEAD:
            raise RefusedRequest(BROKEN, "the head of the request is too long")
        data += await client.receive(CHUNK)
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def _target(head: bytes) -> tuple[str, bytes]:
    """Return the host and port, and the head to forward; that of CONNECT is empty."""
    first, *fields = head.decode("latin-1").split("\r\n")
    try:
        method, target, version = first.split(" ")
        parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
        host, port = parts.hostname or "", parts.port or HTTP_PORT
    except ValueError:
        raise RefusedRequest(BROKEN, "this is no request to a proxy") from None
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if method == "CONNECT":
        return place, b""
    if parts.scheme != "http":
        raise RefusedRequest(BROKEN, "a proxy needs a whole http address")
    kept = [one for one in fields if not one.lower().startswith(("proxy-", "connection:"))]
    path = parts._replace(scheme="", netloc="").geturl() or "/"
    lines = (f"{method} {path} {version}", *kept, "Connection: close", "", "")
    return place, "\r\n".join(lines).encode("latin-1")


async def _connect(place: str) -> SocketStream:
    host, _, port = place.rpartition(":")
    host = host.strip("[]")
    try:
        found = await anyio.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)
    except OSError as error:
        raise RefusedRequest(UNREACHABLE, f"{host} is unknown: {error}") from error
    addresses = [str(entry[4][0]) for entry in found]
    if not _named(host) and not all(map(_public, addresses)):
        raise RefusedRequest(FORBIDDEN, f"{host} has an address that is not public")
    for address in addresses:
        with suppress(OSError):
            return await anyio.connect_tcp(address, int(port))
    raise RefusedRequest(UNREACHABLE, f"{host} does not answer")


def _named(host: str) -> bool:
    """Return whether agents.json names the very address, so that it may be a private one."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return True


def _public(address: str) -> bool:
    found = ipaddress.ip_address(address)
    mapped = getattr(found, "ipv4_mapped", None) or found
    return bool(mapped.is_global) and not mapped.is_multicast


async def _relay(source: SocketStream, target: SocketStream) -> None:
    """Pass bytes on until the source ends, and then end the target's side."""
    with suppress(*LOST):
        while True:
            await target.send(await source.receive(CHUNK))
    with suppress(*LOST):
        await target.send_eof()


async def _refuse(client: SocketStream, refusal: RefusedRequest) -> None:
    text = f"{refusal}\n".encode()
    head = f"HTTP/1.1 {refusal.status}\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n"
    await client.send(head.encode() + text)
