"""The HTTP client, the only module that imports httpx.

httpx 0.28 is the last release of its line and httpx2 continues it with the same interface, so the
rest of the project uses the names below and can follow with one edit here.
"""

import ssl
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TypeAlias
from urllib.request import getproxies

import h11
import httpx

from thinker.http.broker_link import CALL_ID, FAILURE, BrokerLink
from thinker.http.connections import Connections, HostAddress, HttpConnection
from thinker.http.version import USER_AGENT

HttpClient = httpx.AsyncClient
HttpTransport = httpx.AsyncBaseTransport
HttpRequest = httpx.Request
HttpResponse = httpx.Response
HttpError = httpx.HTTPError
HttpUrl = httpx.URL
Network: TypeAlias = HttpTransport | BrokerLink  # what an endpoint may use instead of connecting
PORTS = {"http": 80, "https": 443}
HEADERS = {
    "accept": "*/*",
    "accept-encoding": "gzip, deflate",
    "connection": "keep-alive",
    "user-agent": USER_AGENT,
    "content-type": "application/json",
}  # what httpx sends with a post, in our name

# Failures before a request can have reached the server: repeating it is always safe.
NOT_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
    httpx.InvalidURL,
)

UNANSWERED = (httpx.ReadTimeout,)  # the request may have reached the server, which may charge it

# Failures that the broker may report, by name.
FAILURES = {
    kind.__name__: kind
    for kind in (
        *NOT_SENT,
        httpx.ReadError,
        httpx.ReadTimeout,
        httpx.WriteError,
        httpx.WriteTimeout,
        httpx.ProxyError,
        httpx.DecodingError,
        httpx.RemoteProtocolError,
    )
}
RawHeaders: TypeAlias = Sequence[tuple[bytes, bytes]]


def open_client(
    base_url: str = "",
    *,
    connect: float = 10.0,
    read: float = 60.0,
    transport: HttpTransport | None = None,
) -> HttpClient:
    """Open a client with kept-alive connections; timeouts in seconds, redirects not followed."""
    return httpx.AsyncClient(
        base_url=base_url,
        headers={"user-agent": USER_AGENT},
        timeout=httpx.Timeout(read, connect=connect, pool=connect),
        transport=transport,
        verify=tls_context(),
    )


def open_poster(
    url: str,
    headers: Mapping[str, str],
    *,
    connect: float,
    read: float,
    transport: Network | None = None,
) -> "JsonPoster":
    """Open a poster that sends what an httpx client would; timeouts in seconds, no redirects.

    It uses `Connections`, which take a third of httpx's time per request. A proxy in the
    environment or a password in the address needs httpx, and gets it. With a broker as the
    ``transport``, requests go to it as to a proxy, which adds the key and all usual headers.
    """
    if isinstance(transport, BrokerLink):
        return BrokeredPoster(_template(url, headers), transport)
    template = _template(url, {**HEADERS, **headers})
    at = template.url
    if transport is None and at.scheme in PORTS and not (at.userinfo or getproxies()):
        tls = tls_context() if at.scheme == "https" else None
        host, port = at.raw_host.decode("ascii"), at.port or PORTS[at.scheme]
        address = HostAddress(host, port, tls, connect, read)
        return DirectPoster(template, Connections(address.open))
    return HttpxPoster(template, open_client(connect=connect, read=read, transport=transport))


def _template(url: str, headers: Mapping[str, str]) -> httpx.Request:
    template = httpx.Request("POST", url, headers=headers)
    del template.headers["content-length"]
    return template


class HttpxPoster:
    """Posts JSON to one address through an httpx client."""

    def __init__(self, template: httpx.Request, client: HttpClient) -> None:
        self._url, self._headers = template.url, template.headers
        self._client = client

    async def post(self, body: bytes, headers: RawHeaders = ()) -> httpx.Response:
        """Send a body and return the response, its body unread; the caller closes it.

        ``headers`` are added to the poster's own.

        Raises:
            HttpError: no response arrived.
        """
        sent = [*self._headers.raw, *headers]
        request = httpx.Request("POST", self._url, headers=sent, content=body)
        return await self._client.send(request, stream=True)

    async def aclose(self) -> None:
        await self._client.aclose()


class DirectPoster:
    """Posts JSON to one address over connections of its own."""

    def __init__(self, template: httpx.Request, connections: Connections) -> None:
        self._target, self._headers = template.url.raw_path, template.headers.raw
        self._connections = connections

    async def post(self, body: bytes, headers: RawHeaders = ()) -> "StreamedResponse":
        """Do what `HttpxPoster.post` does."""
        headers = [*self._headers, *headers, (b"content-length", b"%d" % len(body))]
        request = h11.Request(method="POST", target=self._target, headers=headers)
        with _httpx_errors(httpx.ConnectTimeout, httpx.ConnectError):
            connection = await self._connections.take()
        try:
            with _httpx_errors(httpx.ReadTimeout, httpx.ReadError):
                head = await connection.ask(request, body)
        except BaseException:
            self._connections.give_back(connection)
            raise
        answer = _DirectResponse(head, connection, self._connections)
        if "content-encoding" not in answer.headers:
            return answer
        return httpx.Response(head.status_code, headers=answer.headers, stream=answer)

    async def aclose(self) -> None:
        self._connections.close()


class BrokeredPoster(DirectPoster):
    """Posts JSON to one address through the broker, which adds the key."""

    def __init__(self, template: httpx.Request, link: BrokerLink) -> None:
        super().__init__(template, Connections(link.open))
        self._target = absolute(template.url)
        self._link = link

    async def post(self, body: bytes, headers: RawHeaders = ()) -> "StreamedResponse":
        """Do what `HttpxPoster.post` does; the answer's ``CALL_ID`` names the call."""
        call = self._link.new_call()
        response = await super().post(body, (*headers, (CALL_ID.encode(), call.encode())))
        failure = response.headers.get(FAILURE)
        if failure is not None:
            await response.aclose()
            raise FAILURES.get(failure, httpx.ReadError)(failure)
        response.headers[CALL_ID] = call
        return response


class _DirectResponse(httpx.AsyncByteStream):
    """A response of a `DirectPoster`; if compressed, the stream that httpx decodes."""

    def __init__(self, head: h11.Response, connection: HttpConnection, pool: Connections) -> None:
        self.status_code = head.status_code
        self.headers = {key.decode("ascii"): value.decode("latin-1") for key, value in head.headers}
        self._connection = connection
        self._pool = pool

    @property
    def complete(self) -> bool:
        """Whether nothing follows the pieces that were read."""
        return self._connection.complete

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        with _httpx_errors(httpx.ReadTimeout, httpx.ReadError):
            async for piece in self._connection.body():
                yield piece

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self.aiter_bytes()

    async def aclose(self) -> None:
        """Return the connection, which closes if the body was not read to its end."""
        self._pool.give_back(self._connection)


JsonPoster: TypeAlias = HttpxPoster | DirectPoster
StreamedResponse: TypeAlias = httpx.Response | _DirectResponse


def nothing_follows(response: "StreamedResponse") -> bool:
    """Return whether the pieces that were read are known to be all."""
    return isinstance(response, _DirectResponse) and response.complete


def absolute(url: HttpUrl | str) -> bytes:
    """Return the absolute form of an address, as a request to a proxy has it."""
    return str(httpx.URL(url)).encode("ascii")


@contextmanager
def _httpx_errors(late: type[HttpError], broken: type[HttpError]) -> Iterator[None]:
    """Raise failures as the exceptions that httpx raises for them."""
    try:
        yield
    except TimeoutError as error:
        raise late(str(error)) from error
    except (OSError, UnicodeError) as error:  # UnicodeError: an invalid host name
        raise broken(str(error)) from error
    except h11.RemoteProtocolError as error:
        raise httpx.RemoteProtocolError(str(error)) from error


@cache
def tls_context() -> ssl.SSLContext:
    """Return the TLS context with the trusted certificates, loaded once.

    Loading takes longer than everything else in a client; forked processes inherit it.
    """
    context = httpx.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
