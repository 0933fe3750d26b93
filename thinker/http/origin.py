"""Servers: their addresses, and the routes to them."""

import asyncio
import os
import socket
import ssl
from base64 import b64encode
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from urllib.parse import SplitResult, quote, unquote, urlsplit

import anyio

from thinker.http.connections import HttpConnection, format_request_head
from thinker.http.exchange import SUCCESS, BrokenAnswerError, ConnectError, HttpError
from thinker.http.tls import tls_context

NEXT_ADDRESS = 0.25  # seconds before a host's next address is tried in parallel; RFC 8305
UNACKNOWLEDGED_MS = 20_000  # milliseconds after which unacknowledged data ends a connection
PORTS = {"http": 80, "https": 443}
SAFE = "/%?:@!$&'()*+,;=~[]"  # characters of a target that are sent as they are


@dataclass(frozen=True)
class Origin:
    """A server; ``host`` is in ASCII."""

    scheme: str
    host: str
    port: int

    @cached_property
    def name(self) -> str:
        """The host as a Host header names it: with the port, unless it is the default one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def ssl_context(self) -> ssl.SSLContext | None:
        return tls_context() if self.scheme == "https" else None


@dataclass(frozen=True)
class UrlParts:
    """A parsed address: its server, its target, and any authorization in it."""

    origin: Origin
    target: str
    authorization: str


@lru_cache(maxsize=128)
def parse_address(url: str) -> UrlParts:
    """Parse an address; raise `ConnectError` if it is not the address of a web server."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").encode("idna").decode(), parts.port
    except ValueError:  # UnicodeError, too: an invalid host name
        host, port = "", None
    if not host or parts.scheme not in PORTS:
        raise ConnectError("this is not the address of a web server")
    query = f"?{parts.query}" if parts.query else ""
    target = quote((parts.path or "/") + query, safe=SAFE)
    origin = Origin(parts.scheme, host, port or PORTS[parts.scheme])
    return UrlParts(origin, target, _build_authorization(parts))


def _build_authorization(parts: SplitResult) -> str:
    if parts.username is None:
        return ""
    login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return "Basic " + b64encode(login.encode()).decode()


def find_proxy(origin: Origin) -> UrlParts | None:
    """Return the proxy that the environment names for a server, or None."""
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        return None  # the module below is rarely needed, and takes long to load
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415

    found = getproxies()
    url = found.get(origin.scheme) or found.get("all")
    if not url or proxy_bypass(f"{origin.host}:{origin.port}"):
        return None
    return parse_address(url if "://" in url else f"http://{url}")


@dataclass(frozen=True)
class ServerRoute:
    """The route to a server, through a proxy if there is one. Timeouts are in seconds.

    ``connect`` limits opening a connection as a whole, ``read`` each wait for data after that.
    """

    origin: Origin
    proxy: UrlParts | None
    connect: float
    read: float

    async def open(self) -> HttpConnection:
        """Connect; raise `ConnectError` if that fails."""
        try:
            with anyio.fail_after(self.connect):
                if self.proxy is None:
                    return await self._open_connection(self.origin)
                connection = await self._open_connection(self.proxy.origin)
                if self.origin.ssl_context is None:
                    return connection
                return await self._open_tunnel(connection, self.proxy, self.origin.ssl_context)
        except HttpError as error:
            raise ConnectError(f"the proxy: {error}") from error
        except TimeoutError as error:
            raise ConnectError(f"no connection within {self.connect} s") from error
        except (OSError, UnicodeError) as error:
            raise ConnectError(str(error)) from error

    async def _open_connection(self, origin: Origin) -> HttpConnection:
        _, connection = await asyncio.get_running_loop().create_connection(
            partial(HttpConnection, self.read),
            origin.host,
            origin.port,
            ssl=origin.ssl_context,
            happy_eyeballs_delay=NEXT_ADDRESS,
        )
        sock = connection.transport.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNACKNOWLEDGED_MS)
        return connection

    async def _open_tunnel(
        self, proxy: HttpConnection, at: UrlParts, tls: ssl.SSLContext
    ) -> HttpConnection:
        """Return a connection to the server itself, through one to its proxy."""
        inner, host = HttpConnection(self.read), self.origin.host
        try:
            await self._request_tunnel(proxy, at)
            transport = await asyncio.get_running_loop().start_tls(
                proxy.transport, inner, tls, server_hostname=host
            )
        except BaseException:
            proxy.abort_connection()
            raise
        if transport is None:
            raise BrokenAnswerError("the connection was closed")
        inner.connection_made(transport)
        return inner

    async def _request_tunnel(self, proxy: HttpConnection, at: UrlParts) -> None:
        """Have the proxy connect to the server."""
        name, port = self.origin.name, f":{self.origin.port}"
        target = name if name.endswith(port) else name + port
        headers = {"host": target}
        if at.authorization:
            headers["proxy-authorization"] = at.authorization
        await proxy.send_request(format_request_head("CONNECT", target, headers))
        if proxy.status not in SUCCESS:
            raise BrokenAnswerError(f"its answer has status {proxy.status}")
