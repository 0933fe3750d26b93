"""Fetch a page over HTTP from public addresses alone.

Each host is resolved once, every address that it has is checked, and the connection goes to one of
these addresses: a name that leads elsewhere a moment later changes nothing. Redirects are followed
by the same rules.
"""

import http.client
import socket
import ssl
import threading
import zlib
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import quote, urljoin, urlsplit

from orchestrator.hands.hand_tool import HandFailure
from orchestrator.jailer.web_addresses import is_public

MAX_REDIRECTS = 5
MAX_URL = 4000  # characters
CHUNK = 64 * 1024
TICK = 0.1  # seconds between two looks whether a call was canceled
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
    def of(cls, url: str) -> "WebAddress":
        """Read a URL.

        Raises:
            HandFailure: it is no URL of a page.
        """
        if len(url) > MAX_URL or any(char.isspace() or not char.isprintable() for char in url):
            raise HandFailure("the URL is too long or has a space in it; correct it")
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError as error:
            raise HandFailure(f"{url!r} is no URL: {error}") from error
        if parts.scheme not in PORTS or not host:
            raise HandFailure(f"{url!r} is no http or https URL")
        if "@" in parts.netloc:
            raise HandFailure("the URL must not hold a user name or password")
        port = PORTS[parts.scheme] if port is None else port
        if port < WELL_KNOWN and port not in PORTS.values():
            raise HandFailure(f"port {port} is not one of the web's")
        target = quote(parts.path or "/", SAFE)
        if parts.query:
            target += f"?{quote(parts.query, SAFE)}"
        try:
            name = host if ":" in host else host.encode("idna").decode().lower().rstrip(".")
        except UnicodeError as error:
            raise HandFailure(f"{host!r} is no name of a host") from error
        return cls(parts.scheme, name, port, target)

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.target}"


@dataclass(frozen=True)
class FetchedPage:
    """What a server answered; ``cut`` if there was more."""

    url: str
    status: int
    content_type: str
    charset: str
    data: bytes
    cut: bool


def resolve(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host, as the machine knows them."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


@dataclass(frozen=True)
class PageFetcher:
    """Fetches pages in ``seconds`` and of at most ``max_bytes``.

    ``private`` are the hosts that may have any address.
    """

    seconds: float
    max_bytes: int
    private: Collection[str] = ()
    resolve: Resolve = resolve
    connect: Callable[[tuple[str, int], float], socket.socket] = field(
        default=socket.create_connection
    )

    def fetch(self, url: str, canceled: threading.Event) -> FetchedPage:
        """Return a page, after at most `MAX_REDIRECTS` redirects.

        Raises:
            HandFailure: it cannot be fetched, or may not.
        """
        deadline = _Deadline(self.seconds, canceled)
        address = WebAddress.of(url)
        try:
            for _ in range(1 + MAX_REDIRECTS):
                page, location = self._request(address, deadline)
                if not location:
                    return page
                address = WebAddress.of(urljoin(address.url, location))
        except (OSError, http.client.HTTPException, zlib.error) as error:
            problem = deadline.problem or str(error) or type(error).__name__
            raise HandFailure(f"{address.url} cannot be fetched: {problem}") from error
        finally:
            deadline.close()
        raise HandFailure(f"{url} redirects more than {MAX_REDIRECTS} times")

    def _request(self, address: WebAddress, deadline: "_Deadline") -> tuple[FetchedPage, str]:
        """Return the answer of one server, and where it redirects to."""
        connection = self._connection(address, deadline)
        try:
            connection.request("GET", address.target, headers=HEADERS)
            answer = connection.getresponse()
            location = answer.headers.get("Location", "") if answer.status in REDIRECTS else ""
            data, cut = (b"", False) if location else self._body(answer, deadline)
        finally:
            connection.close()
        headers = answer.headers
        return FetchedPage(
            url=address.url,
            status=answer.status,
            content_type=headers.get_content_type() if "Content-Type" in headers else "",
            charset=headers.get_content_charset() or "",
            data=data,
            cut=cut,
        ), location

    def _connection(self, address: WebAddress, deadline: "_Deadline") -> http.client.HTTPConnection:
        """Connect to one of the addresses that were checked, by whatever name it is asked for."""
        addresses = deadline.run(lambda: self.resolve(address.host, address.port))
        if not addresses:
            raise HandFailure(f"{address.host} has no address")
        if address.host not in self.private:
            for found in addresses:
                if not is_public(found):
                    raise HandFailure(
                        f"{address.host} has the address {found}, which is not public; an operator"
                        ' may allow the host in "allowPrivate" of the agent\'s "web"'
                    )
        sock = self._connected(addresses, address.port, deadline)
        connection = http.client.HTTPConnection(address.host, address.port)
        if address.scheme == "https":
            secured = _tls().wrap_socket(
                sock, server_hostname=address.host, do_handshake_on_connect=False
            )
            deadline.watch(secured)
            secured.do_handshake()
            sock = secured
        connection.sock = sock
        return connection

    def _connected(
        self, addresses: Sequence[str], port: int, deadline: "_Deadline"
    ) -> socket.socket:
        problem: OSError | None = None
        for found in addresses:
            try:
                sock = self.connect((found, port), self.seconds)
            except OSError as error:
                problem = error
            else:
                deadline.watch(sock)
                return sock
        raise problem or OSError("no address")

    def _body(self, answer: http.client.HTTPResponse, deadline: "_Deadline") -> tuple[bytes, bool]:
        """Read and unpack a body, never more than `max_bytes` of either."""
        number = COMPRESSED.get(answer.headers.get("Content-Encoding", "").strip().lower())
        unpack = None if number is None else zlib.decompressobj(number)
        data, raw = bytearray(), 0
        while raw <= self.max_bytes and len(data) <= self.max_bytes:
            part = answer.read1(CHUNK)
            if not part:
                break
            raw += len(part)
            room = self.max_bytes + 1 - len(data)
            data += part if unpack is None else unpack.decompress(part, room)
        deadline.check()
        return bytes(data[: self.max_bytes]), len(data) > self.max_bytes or raw > self.max_bytes


class _Deadline:
    """Ends what a fetch waits for, when its time is over or its call was canceled."""

    def __init__(self, seconds: float, canceled: threading.Event) -> None:
        self._seconds = seconds
        self._sockets: list[socket.socket] = []
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._canceled = canceled
        self.problem = ""
        threading.Thread(target=self._wait, daemon=True).start()

    def watch(self, sock: socket.socket) -> None:
        with self._lock:
            self._sockets.append(sock)
        self.check()

    def check(self) -> None:
        """Raise `OSError` when the time is over."""
        if self.problem:
            raise OSError(self.problem)

    def run(self, function: Callable[[], Sequence[str]]) -> Sequence[str]:
        """Return what a function returns that cannot be interrupted, but left alone."""
        found: list[Sequence[str]] = []
        problems: list[OSError] = []

        def work() -> None:
            try:
                found.append(function())
            except (OSError, UnicodeError) as error:
                problems.append(error if isinstance(error, OSError) else OSError(str(error)))

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(self._seconds)
        self.check()
        if problems:
            raise problems[0]
        if not found:
            raise OSError("its name is not resolved in time")
        return found[0]

    def close(self) -> None:
        self._done.set()

    def _wait(self) -> None:
        left = self._seconds
        while left > 0 and not self._done.wait(TICK) and not self._canceled.is_set():
            left -= TICK
        if self._done.is_set():
            return
        self.problem = "it was canceled" if self._canceled.is_set() else "it took too long"
        with self._lock:
            for sock in self._sockets:
                with suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()
