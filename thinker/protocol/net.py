"""The one module that imports the HTTP client.

httpx 0.28 is the last release of its line and httpx2 continues it with the same interface, so
the whole project reaches the client through the names below.
"""

import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from urllib.request import getproxies

import h11
import httpx

from thinker.protocol.http1 import Address, Connection, Connections

HttpClient = httpx.AsyncClient
HttpTransport = httpx.AsyncBaseTransport
HttpResponse = httpx.Response
HttpError = httpx.HTTPError
PORTS = {"http": 80, "https": 443}

# Failures before a request can have reached the other side: repeating it is always safe.
NOT_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
    httpx.InvalidURL,
)


def open_client(
    base_url: str = "",
    *,
    connect: float = 10.0,
    read: float = 60.0,
    transport: HttpTransport | None = None,
) -> HttpClient:
    """A client that keeps its connections alive; timeouts in seconds, redirects not followed."""
    return httpx.AsyncClient(
        base_url=base_url,
        timeout=httpx.Timeout(read, connect=connect, pool=connect),
        transport=transport,
        verify=tls_context(),
    )


class Poster:
    """Posts JSON to one address, time after time, over connections that are kept alive.

    It does nothing that a model's address has no need of and that takes most of a request's time
    in a client: redirects, cookies, hooks. ``connect`` and ``read`` are timeouts in seconds.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        connect: float,
        read: float,
        transport: HttpTransport | None = None,
    ) -> None:
        template = httpx.AsyncClient(transport=httpx.AsyncBaseTransport()).build_request(
            "POST", url, headers={"content-type": "application/json", **headers}
        )
        del template.headers["content-length"]
        self._url, self._headers = template.url, template.headers
        timeouts = {"connect": connect, "read": read, "write": read, "pool": connect}
        self._extensions = {"timeout": timeouts}
        self._transport = transport or _transport(template.url, connect, read)

    async def post(self, body: bytes) -> HttpResponse:
        """The answer, whose body has yet to be read; who gets it closes it.

        Raises:
            HttpError: nobody answered.
        """
        request = httpx.Request(
            "POST", self._url, headers=self._headers, content=body, extensions=self._extensions
        )
        return await self._transport.handle_async_request(request)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()


class _ByClient(httpx.AsyncBaseTransport):
    """Sends with all that a client can: proxies of the environment, a password in the address."""

    def __init__(self) -> None:
        self._client = open_client()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self._client.send(request, stream=True)

    async def aclose(self) -> None:
        await self._client.aclose()


class _Direct(httpx.AsyncBaseTransport):
    """Sends straight to the server."""

    def __init__(self, address: Address) -> None:
        self._connections = Connections(address)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        with _as_of_httpx(httpx.ConnectTimeout, httpx.ConnectError):
            connection = await self._connections.take()
        body = _Body(connection, self._connections)
        asked = h11.Request(
            method=request.method, target=request.url.raw_path, headers=request.headers.raw
        )
        try:
            with _as_of_httpx(httpx.ReadTimeout, httpx.ReadError):
                head = await connection.ask(asked, request.content)
        except BaseException:
            await body.aclose()
            raise
        return httpx.Response(head.status_code, headers=list(head.headers), stream=body)

    async def aclose(self) -> None:
        self._connections.close()


class _Body(httpx.AsyncByteStream):
    """What is left of an answer; its connection is free once it is closed."""

    def __init__(self, connection: Connection, connections: Connections) -> None:
        self._connection = connection
        self._connections = connections

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _as_of_httpx(httpx.ReadTimeout, httpx.ReadError):
            async for piece in self._connection.body():
                yield piece

    async def aclose(self) -> None:
        self._connections.give_back(self._connection)


@contextmanager
def _as_of_httpx(late: type[HttpError], broken: type[HttpError]) -> Iterator[None]:
    """Failures by the names that the client gives them."""
    try:
        yield
    except TimeoutError as error:
        raise late(str(error)) from error
    except OSError as error:
        raise broken(str(error)) from error
    except h11.RemoteProtocolError as error:
        raise httpx.RemoteProtocolError(str(error)) from error


def _transport(url: httpx.URL, connect: float, read: float) -> HttpTransport:
    if getproxies() or url.userinfo or url.scheme not in PORTS:
        return _ByClient()
    tls = tls_context() if url.scheme == "https" else None
    host, port = url.raw_host.decode("ascii"), url.port or PORTS[url.scheme]
    return _Direct(Address(host, port, tls, connect, read))


@cache
def tls_context() -> ssl.SSLContext:
    """The certificates that we trust, read once: it takes longer than all the rest of a client.

    Processes that are forked from this one inherit it.
    """
    context = httpx.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
