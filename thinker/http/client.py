"""The one module that imports the HTTP client.

httpx 0.28 is the last release of its line and httpx2 continues it with the same interface, so
the whole project reaches the client through the names below.
"""

import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Protocol
from urllib.request import getproxies

import h11
import httpx

from thinker.http.connections import Connection, Connections, HostAddress

HttpClient = httpx.AsyncClient
HttpTransport = httpx.AsyncBaseTransport
HttpResponse = httpx.Response
HttpError = httpx.HTTPError
PORTS = {"http": 80, "https": 443}
HEADERS = {
    "accept": "*/*",
    "accept-encoding": "gzip, deflate",
    "connection": "keep-alive",
    "user-agent": f"python-httpx/{httpx.__version__}",
    "content-type": "application/json",
}  # of a post; the client's own

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


class StreamedResponse(Protocol):
    """An answer whose body has yet to be read; whoever gets it closes it."""

    @property
    def status_code(self) -> int:
        """The HTTP status."""

    @property
    def headers(self) -> Mapping[str, str]:
        """By their names in lower case."""

    def aiter_bytes(self) -> AsyncIterator[bytes]:
        """The body piece by piece.

        Raises:
            HttpError: the rest of it did not come.
        """

    async def aclose(self) -> None:
        """Read no more."""


class JsonPoster(Protocol):
    """Posts JSON to one address, time after time, over connections that are kept alive."""

    async def post(self, body: bytes) -> StreamedResponse:
        """Ask.

        Raises:
            HttpError: nobody answered.
        """

    async def aclose(self) -> None:
        """Close the connections."""


def open_poster(
    url: str,
    headers: Mapping[str, str],
    *,
    connect: float,
    read: float,
    transport: HttpTransport | None = None,
) -> JsonPoster:
    """A poster that says what a client says; timeouts in seconds, redirects not followed.

    It asks the server itself, in a third of the time that a client takes; what needs a client (a
    proxy of the environment, a password in the address) gets one.
    """
    template = httpx.Request("POST", url, headers={**HEADERS, **headers})
    del template.headers["content-length"]
    at = template.url
    if transport is None and at.scheme in PORTS and not (at.userinfo or getproxies()):
        tls = tls_context() if at.scheme == "https" else None
        host, port = at.raw_host.decode("ascii"), at.port or PORTS[at.scheme]
        return DirectPoster(template, HostAddress(host, port, tls, connect, read))
    return HttpxPoster(template, open_client(connect=connect, read=read, transport=transport))


class HttpxPoster:
    """Asks with all that a client can do."""

    def __init__(self, template: httpx.Request, client: HttpClient) -> None:
        self._url, self._headers = template.url, template.headers
        self._client = client

    async def post(self, body: bytes) -> StreamedResponse:
        """Send a body; return the response before its body was read."""
        request = httpx.Request("POST", self._url, headers=self._headers, content=body)
        return await self._client.send(request, stream=True)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.aclose()


class DirectPoster:
    """Asks the server itself."""

    def __init__(self, template: httpx.Request, address: HostAddress) -> None:
        self._target, self._headers = template.url.raw_path, template.headers.raw
        self._connections = Connections(address)

    async def post(self, body: bytes) -> StreamedResponse:
        """Send a body; return the response before its body was read."""
        headers = [*self._headers, (b"content-length", b"%d" % len(body))]
        request = h11.Request(method="POST", target=self._target, headers=headers)
        with _as_of_httpx(httpx.ConnectTimeout, httpx.ConnectError):
            connection = await self._connections.take()
        try:
            with _as_of_httpx(httpx.ReadTimeout, httpx.ReadError):
                head = await connection.ask(request, body)
        except BaseException:
            self._connections.give_back(connection)
            raise
        answer = _DirectResponse(head, connection, self._connections)
        if "content-encoding" not in answer.headers:
            return answer
        return httpx.Response(head.status_code, headers=answer.headers, stream=answer)

    async def aclose(self) -> None:
        """Close every connection."""
        self._connections.close()


class _DirectResponse(httpx.AsyncByteStream):
    """An answer of the server itself; compressed, it is what a client's answer is read from."""

    def __init__(
        self, head: h11.Response, connection: Connection, connections: Connections
    ) -> None:
        self.status_code = head.status_code
        self.headers = {
            name.decode("ascii"): value.decode("latin-1") for name, value in head.headers
        }
        self._connection = connection
        self._connections = connections

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        with _as_of_httpx(httpx.ReadTimeout, httpx.ReadError):
            async for piece in self._connection.body():
                yield piece

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self.aiter_bytes()

    async def aclose(self) -> None:
        """Close every connection."""
        self._connections.give_back(self._connection)


@contextmanager
def _as_of_httpx(late: type[HttpError], broken: type[HttpError]) -> Iterator[None]:
    """Failures by the names that the client gives them."""
    try:
        yield
    except TimeoutError as error:
        raise late(str(error)) from error
    except (OSError, UnicodeError) as error:  # the latter: no host can have such a name
        raise broken(str(error)) from error
    except h11.RemoteProtocolError as error:
        raise httpx.RemoteProtocolError(str(error)) from error


@cache
def tls_context() -> ssl.SSLContext:
    """The certificates that we trust, read once: it takes longer than all the rest of a client.

    Processes that are forked from this one inherit it.
    """
    context = httpx.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
