"""The way out: requests to any server over kept connections."""

import zlib
from collections.abc import AsyncIterator, Mapping

from thinker.http.connections import UNREAD, Connections, PooledAnswer
from thinker.http.exchange import NO_HEADERS, BrokenAnswerError, HttpAnswer
from thinker.http.http_connection import HttpConnection
from thinker.http.origin import Origin, UrlParts, WayTo, address, proxy_of, request_head
from thinker.http.version import USER_AGENT

HEADERS = {
    "accept": "*/*",
    "accept-encoding": "gzip, deflate",
    "connection": "keep-alive",
    "user-agent": USER_AGENT,
}
WINDOWS = {"gzip": zlib.MAX_WBITS | 16, "x-gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}


class WebClient:
    """Asks servers, over connections that are kept for minutes and shared by all who ask.

    Timeouts in seconds: ``connect`` for opening a connection, ``read`` for each wait for data. A
    caller bounds the whole. Proxies are those of the environment.
    """

    def __init__(self, *, connect: float = 10.0, read: float = 60.0) -> None:
        self._connect, self._read = connect, read
        self._pools: dict[Origin, tuple[Connections[HttpConnection], UrlParts | None]] = {}

    async def send(
        self, method: str, url: str, headers: Mapping[str, str] = NO_HEADERS, body: bytes = b""
    ) -> HttpAnswer:
        """Make a request; see `Network.send`. A body is sent as JSON unless ``headers`` say else.

        It is sent once: a server may have acted on it, and may charge for it.
        """
        asked = address(url)
        pool, proxy = self._pool(asked.origin)
        request = _request(method, asked, proxy, headers, body)
        connection = await pool.take()
        try:
            await connection.ask(request)
            return _DirectAnswer(connection, pool)
        except BaseException:
            connection.end()
            raise

    def warm(self, url: str) -> None:
        """See to it that a connection for a request to come is there, if none is."""
        self._pool(address(url).origin)[0].warm()

    def close(self) -> None:
        for pool, _ in self._pools.values():
            pool.close()

    def _pool(self, origin: Origin) -> tuple[Connections[HttpConnection], UrlParts | None]:
        found = self._pools.get(origin)
        if found is None:
            proxy = proxy_of(origin)
            way = WayTo(origin, proxy, self._connect, self._read)
            found = self._pools[origin] = Connections(way.open), proxy
        return found


def _request(
    method: str,
    asked: UrlParts,
    proxy: UrlParts | None,
    headers: Mapping[str, str],
    body: bytes,
) -> bytes:
    """Return a request; raise `ConnectError` if it cannot be sent."""
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
    return request_head(method, target, sent) + body


class _DirectAnswer(PooledAnswer):
    """An answer of a server, decoded."""

    def __init__(self, connection: HttpConnection, pool: Connections[HttpConnection]) -> None:
        super().__init__(connection.status, connection.headers, connection, pool)
        self._encoding = self.headers.get("content-encoding", "identity").lower()
        if self._encoding not in {"identity", "", *WINDOWS}:
            raise BrokenAnswerError("the answer is compressed in a way that was not asked for")

    @property
    def complete(self) -> bool:
        return super().complete and self._encoding not in WINDOWS

    def pieces(self) -> AsyncIterator[bytes]:
        body = super().pieces()
        return _unpacked(body, self._encoding) if self._encoding in WINDOWS else body


async def _unpacked(body: AsyncIterator[bytes], encoding: str) -> AsyncIterator[bytes]:
    """Yield what compressed pieces contain, never much at once."""
    unpacker, begun = zlib.decompressobj(WINDOWS[encoding]), False
    try:
        async for packed in body:
            if not begun and encoding == "deflate" and packed[0] & 0x0F != zlib.DEFLATED:
                unpacker = zlib.decompressobj(-zlib.MAX_WBITS)  # as many servers understand it
            begun, rest = True, packed
            while rest:
                piece = unpacker.decompress(rest, UNREAD)
                if unpacker.unused_data:
                    raise BrokenAnswerError("more follows the compressed answer")
                rest = unpacker.unconsumed_tail
                if piece:
                    yield piece
    except zlib.error as error:
        raise BrokenAnswerError(str(error)) from error
    if begun and not unpacker.eof:
        raise BrokenAnswerError("the compressed answer is cut short")
