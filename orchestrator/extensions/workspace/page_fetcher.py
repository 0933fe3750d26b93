"""Fetch a page over HTTP, only from public addresses.

Each host is resolved once, every address that it has is checked, and the connection goes to one of
these addresses: a name that leads elsewhere a moment later changes nothing. Redirects are followed
by the same rules.
"""

import socket
import ssl
import threading
import zlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from email.message import Message
from functools import cache
from urllib.parse import quote, urljoin, urlsplit

import anyio
from anyio import to_thread

from orchestrator.errors import describe_cause
from orchestrator.extensions.workspace.served_tool import CallFailure
from orchestrator.jail_broker.web_addresses import is_public
from thinker.http.optional_imports import block_imports

with block_imports("rich", "click"):  # httpx loads them for a command line of its own: 4 MB
    import httpx

MAX_REDIRECTS = 5
MAX_URL = 4000  # characters
TICK = 0.1  # seconds between two checks whether a call was cancelled
PORTS = {"http": 80, "https": 443}
WELL_KNOWN = 1024  # ports below speak other protocols, but for those of PORTS
REDIRECTS = (301, 302, 303, 307, 308)
COMPRESSED = {"gzip": 47, "x-gzip": 47, "deflate": 47}  # zlib's number for either header
HEADERS = {
    "User-Agent": "Mozilla/5.0 (compatible; orchestrator)",
    "Accept": "text/html,application/json,text/*;q=0.9,*/*;q=0.1",
    "Accept-Language": "en,*;q=0.5",
    "Accept-Encoding": "gzip",
    "Connection": "close",
}
SAFE = "%/:=&?~+!$,;'@()*[]-._"  # in a path or query as a person writes it
Resolve = Callable[[str, int], Sequence[str]]


@dataclass(frozen=True)
class WebAddress:
    """A URL in its parts; ``target`` is the path with the query."""

    scheme: str
    host: str
    port: int
    target: str

    @classmethod
    def parse(cls, url: str) -> "WebAddress":
        """Parse a URL.

        Raises:
            CallFailure: ``url`` is not the URL of a page.
        """
        if len(url) > MAX_URL or any(char.isspace() or not char.isprintable() for char in url):
            raise CallFailure("the URL is too long or has a space in it; correct it")
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError as error:
            raise CallFailure(f"{url!r} is not a URL: {error}") from error
        if parts.scheme not in PORTS or not host:
            raise CallFailure(f"{url!r} is not an http or https URL")
        if "@" in parts.netloc:
            raise CallFailure("the URL must not hold a user name or password")
        port = PORTS[parts.scheme] if port is None else port
        if port < WELL_KNOWN and port not in PORTS.values():
            raise CallFailure(f"port {port} is not one of the web's")
        target = quote(parts.path or "/", SAFE)
        if parts.query:
            target += f"?{quote(parts.query, SAFE)}"
        try:
            name = host if ":" in host else host.encode("idna").decode().lower().rstrip(".")
        except UnicodeError as error:
            raise CallFailure(f"{host!r} is not the name of a host") from error
        return cls(parts.scheme, name, port, target)

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.target}"


@dataclass(frozen=True)
class FetchedPage:
    """The response of a server; ``cut`` says that there was more."""

    url: str
    status: int
    content_type: str
    charset: str
    data: bytes
    cut: bool


def resolve_host(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host, as this machine resolves them."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def open_connections() -> httpx.AsyncBaseTransport:
    """Return a transport for requests; the proxies of the environment are not for pages."""
    return httpx.AsyncHTTPTransport(verify=_build_tls_context(), trust_env=False)


@dataclass(frozen=True)
class PageFetcher:
    """Fetches pages in ``seconds`` and of at most ``max_bytes``.

    ``private`` are the hosts that may have any address.
    """

    seconds: float
    max_bytes: int
    private: Collection[str] = ()
    resolve: Resolve = resolve_host
    connections: Callable[[], httpx.AsyncBaseTransport] = field(default=open_connections)

    def fetch_page(self, url: str, cancelled: threading.Event) -> FetchedPage:
        """Return a page, after at most `MAX_REDIRECTS` redirects.

        Raises:
            CallFailure: the page cannot be fetched, or must not be.
        """
        found = anyio.run(self._fetch_in_time, WebAddress.parse(url), cancelled)
        if isinstance(found, CallFailure):
            raise found
        return found

    async def _fetch_in_time(
        self, address: WebAddress, cancelled: threading.Event
    ) -> FetchedPage | CallFailure:
        found: FetchedPage | CallFailure | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_with, cancelled, tasks.cancel_scope)
            with anyio.move_on_after(self.seconds):
                try:
                    found = await self._follow_redirects(address)
                except CallFailure as failure:
                    found = failure
            tasks.cancel_scope.cancel()
        reason = "it was cancelled" if cancelled.is_set() else "it took too long"
        return found or CallFailure(f"{address.url} cannot be fetched: {reason}")

    async def _follow_redirects(self, first: WebAddress) -> FetchedPage:
        """Return the page at the end of the redirects."""
        address = first
        try:
            for _ in range(1 + MAX_REDIRECTS):
                page, location = await self._send_request(address)
                if not location:
                    return page
                address = WebAddress.parse(urljoin(address.url, location))
        except (OSError, UnicodeError, zlib.error, httpx.HTTPError, httpx.InvalidURL) as error:
            problem = describe_cause(error)
            raise CallFailure(f"{address.url} cannot be fetched: {problem}") from error
        raise CallFailure(f"{first.url} redirects more than {MAX_REDIRECTS} times")

    async def _send_request(self, address: WebAddress) -> tuple[FetchedPage, str]:
        """Return the response of one server, and the address that it redirects to."""
        checked = await self._check_addresses(address)
        transport = _CheckedConnections(checked, self.connections())
        url = httpx.URL(
            scheme=address.scheme,
            host=address.host,
            port=address.port,
            raw_path=address.target.encode("ascii"),
        )
        async with (
            httpx.AsyncClient(transport=transport, trust_env=False, timeout=self.seconds) as client,
            client.stream("GET", url, headers=HEADERS) as answer,
        ):
            status = answer.status_code
            location = answer.headers.get("location", "") if status in REDIRECTS else ""
            data, cut = (b"", False) if location else await self._read_body(answer)
        kind = Message()
        if "content-type" in answer.headers:
            kind["content-type"] = answer.headers["content-type"]
        return FetchedPage(
            url=address.url,
            status=status,
            content_type=kind.get_content_type() if "content-type" in kind else "",
            charset=kind.get_content_charset() or "",
            data=data,
            cut=cut,
        ), location

    async def _check_addresses(self, address: WebAddress) -> Sequence[str]:
        """Return the addresses of a host, all of which may be reached.

        Raises:
            CallFailure: the host has no address, or one that is not public.
        """
        addresses = await to_thread.run_sync(
            self.resolve, address.host, address.port, abandon_on_cancel=True
        )
        if not addresses:
            raise CallFailure(f"{address.host} has no address")
        if address.host not in self.private:
            for found in addresses:
                if not is_public(found):
                    raise CallFailure(
                        f"{address.host} has the address {found}, which is not public; an operator"
                        ' may allow the host in "allowPrivate" of the agent\'s "web"'
                    )
        return addresses

    async def _read_body(self, answer: httpx.Response) -> tuple[bytes, bool]:
        """Read and unpack a body, never more than `max_bytes` of either."""
        number = COMPRESSED.get(answer.headers.get("content-encoding", "").strip().lower())
        unpack = None if number is None else zlib.decompressobj(number)
        data, raw = bytearray(), 0
        try:
            async for part in answer.aiter_raw():
                raw += len(part)
                room = self.max_bytes + 1 - len(data)
                data += part if unpack is None else unpack.decompress(part, room)
                if raw > self.max_bytes or len(data) > self.max_bytes:
                    break
        except httpx.RemoteProtocolError:  # the connection ended early; what has come is shown
            return bytes(data[: self.max_bytes]), True
        return bytes(data[: self.max_bytes]), len(data) > self.max_bytes or raw > self.max_bytes


class _CheckedConnections(httpx.AsyncBaseTransport):
    """Connects to one of the checked addresses, whatever the host's name resolves to by now.

    Requests still name the host, and the server's certificate must match the name.
    """

    def __init__(self, addresses: Sequence[str], connections: httpx.AsyncBaseTransport) -> None:
        self._addresses, self._connections = addresses, connections

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.extensions = {**request.extensions, "sni_hostname": request.url.host}
        problem: Exception | None = None
        for address in self._addresses:
            try:
                request.url = request.url.copy_with(host=address)
                return await self._connections.handle_async_request(request)
            except (httpx.ConnectError, httpx.InvalidURL) as error:
                problem = error
        raise problem or httpx.ConnectError("no address")

    async def aclose(self) -> None:
        await self._connections.aclose()


async def _cancel_with(cancelled: threading.Event, scope: anyio.CancelScope) -> None:
    while not cancelled.is_set():  # noqa: ASYNC110 - another thread sets it
        await anyio.sleep(TICK)
    scope.cancel()


@cache
def _build_tls_context() -> ssl.SSLContext:
    return ssl.create_default_context()
