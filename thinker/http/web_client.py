"""The HTTP client: requests to any server over kept-alive connections."""

import zlib
from collections.abc import AsyncIterator, Awaitable, Mapping
from dataclasses import dataclass

from thinker.http.connections import (
    MAX_UNREAD_BYTES,
    Connections,
    HttpConnection,
    PooledAnswer,
    format_request_head,
)
from thinker.http.exchange import NO_HEADERS, BrokenAnswerError, HttpAnswer
from thinker.http.origin import (
    Origin,
    ServerRoute,
    UrlParts,
    find_proxy,
    parse_address,
)
from thinker.http.version import USER_AGENT

HEADERS = {
    "accept": "*/*",
    "accept-encoding": "gzip, deflate",
    "connection": "keep-alive",
    "user-agent": USER_AGENT,
}
WINDOWS = {"gzip": zlib.MAX_WBITS | 16, "x-gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}


class WebClient:
    """Makes requests over connections that are kept for minutes and shared by all callers.

    Timeouts in seconds: ``connect`` for opening a connection, ``read`` for each wait for data.
    Callers limit the whole request. Proxies come from the environment.
    """

    def __init__(self, *, connect: float = 10.0, read: float = 60.0) -> None:
        self._connect, self._read = connect, read
        self._pools: dict[Origin, tuple[Connections[HttpConnection], UrlParts | None]] = {}
        self._patience: dict[Origin, float] = {}

    def set_connect_seconds(self, url: str, seconds: float) -> None:
        """Set the time to open a connection to the server of a URL."""
        self._patience[parse_address(url).origin] = seconds

    async def send(
        self, method: str, url: str, headers: Mapping[str, str] = NO_HEADERS, body: bytes = b""
    ) -> HttpAnswer:
        """Make a request as in `Network.send`; a body is JSON unless ``headers`` say otherwise.

        The request is never repeated: the server may have acted on it, and may charge for it.
        """
        asked = parse_address(url)
        pool, proxy = self._pools.get(asked.origin) or self._add_pool(asked.origin)
        request = _format_request(method, asked, proxy, headers, body)
        connection = await pool.take_connection()
        try:
            await connection.send_request(request)
        except BaseException:
            connection.abort_connection()
            raise
        status, answered = connection.status, connection.headers
        encoding = answered.get("content-encoding", "").lower()
        if encoding in {"", "identity"}:
            return PooledAnswer(status, answered, connection, pool.give_back)
        if encoding in WINDOWS:
            return _PackedAnswer(status, answered, connection, pool.give_back, encoding)
        connection.abort_connection()
        raise BrokenAnswerError(f"the response uses the unrequested content encoding {encoding!r}")

    def warm_connection(self, url: str) -> None:
        """Open a connection for an upcoming request, unless one is idle."""
        origin = parse_address(url).origin
        pool, _ = self._pools.get(origin) or self._add_pool(origin)
        pool.warm_connection()

    def close(self) -> None:
        for pool, _ in self._pools.values():
            pool.close()

    def _add_pool(self, origin: Origin) -> tuple[Connections[HttpConnection], UrlParts | None]:
        proxy = find_proxy(origin)

        def open_connection() -> Awaitable[HttpConnection]:
            connect = self._patience.get(origin, self._connect)
            return ServerRoute(origin, proxy, connect, self._read).open()

        found = self._pools[origin] = Connections(open_connection), proxy
        return found


def _format_request(
    method: str,
    asked: UrlParts,
    proxy: UrlParts | None,
    headers: Mapping[str, str],
    body: bytes,
) -> bytes:
    """Return a request as bytes; raise `ConnectError` as `format_request_head`."""
    sent, target = {"host": asked.origin.name, **HEADERS}, asked.target
    if body:
        sent["content-type"] = "application/json"
    if body or method == "POST":
        sent["content-length"] = str(len(body))
    sent.update(headers)
    if asked.authorization:
        sent["authorization"] = asked.authorization
    if proxy is not None and asked.origin.scheme == "http":
        target = f"http://{asked.origin.name}{target}"
        if proxy.authorization:
            sent["proxy-authorization"] = proxy.authorization
    return format_request_head(method, target, sent) + body


@dataclass(eq=False)
class _PackedAnswer(PooledAnswer):
    """An answer whose body is decompressed."""

    encoding: str

    @property
    def is_complete(self) -> bool:
        return False

    def iter_pieces(self) -> AsyncIterator[bytes]:
        return _decompress_body(super().iter_pieces(), self.encoding)

    async def read(self, limit: int) -> bytes:
        return await HttpAnswer.read(self, limit)


async def _decompress_body(body: AsyncIterator[bytes], encoding: str) -> AsyncIterator[bytes]:
    """Yield the content of compressed pieces, in small parts."""
    unpacker, begun = zlib.decompressobj(WINDOWS[encoding]), False
    try:
        async for packed in body:
            if not begun and encoding == "deflate" and packed[0] & 0x0F != zlib.DEFLATED:
                unpacker = zlib.decompressobj(-zlib.MAX_WBITS)  # as many servers implement it
            begun, rest = True, packed
            while rest:
                piece = unpacker.decompress(rest, MAX_UNREAD_BYTES)
                if unpacker.unused_data:
                    raise BrokenAnswerError("more follows the compressed answer")
                rest = unpacker.unconsumed_tail
                if piece:
                    yield piece
    except zlib.error as error:
        raise BrokenAnswerError(str(error)) from error
    if begun and not unpacker.eof:
        raise BrokenAnswerError("the compressed answer is cut short")
