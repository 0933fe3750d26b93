"""HTTP/1.1 client connections: httptools parses and asyncio moves the bytes.

httpx's own transport adds streams and cancel scopes between them and takes three times as long.
"""

import re

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from thinker.http.connections import KeptConnection
from thinker.http.exchange import BrokenAnswerError

MAX_HEAD = 100 * 1024  # bytes of a response head, or of anything else that is not its body
MOST_INFORMATIONAL = 16  # responses before the one that counts
SWITCHED = 101  # the status of a connection that speaks something else from now on
FINAL = 200  # the first status of a response that counts
LENGTHS = {"content-length", "transfer-encoding"}  # headers that say how long a body is
VERSIONS = ("1.0", "1.1")
TIMEOUT = re.compile(r"timeout\s*=\s*(\d{1,9})", re.IGNORECASE)  # in a Keep-Alive header


class HttpConnection(KeptConnection):
    """A connection to a web server or proxy.

    Methods that begin with ``on_`` are called by the parser, which ends with what they raise.
    """

    _parser: HttpResponseParser  # of the last response
    _keep_alive = True

    async def ask(self, request: bytes) -> None:
        """Send a request and wait for the head of its response."""
        self._parser = HttpResponseParser(self)
        self.status, self.headers, self.ended = 0, dict[str, str](), False
        self._informational = 0
        self._other = 0  # bytes since the last piece of the body
        self.transport.write(request)
        while not self.status:
            await self.more()
        told = TIMEOUT.search(self.headers.get("keep-alive", ""))
        if told is not None:  # minus one for the way
            self.kept = min(self.kept, float(told[1]) - 1)

    def reusable(self) -> bool:
        return super().reusable() and self._keep_alive

    def take(self, data: bytes) -> None:
        try:
            self._feed(memoryview(data))
        except BrokenAnswerError as error:
            self.fail(str(error))
        except (HttpParserError, HttpParserUpgrade) as error:
            self.fail(str(error.__context__ or error))

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is None and self.lost is None and not self.ended and self.status:
            # A response without a length ends with its connection.
            self.ended = self.headers.keys().isdisjoint(LENGTHS)
        super().connection_lost(exc)

    def _feed(self, data: memoryview) -> None:
        # In two parts, since the parser would pass over an empty line behind the response.
        for part in (data[:-1], data[-1:]):
            if self.ended:
                raise BrokenAnswerError("more follows the answer")
            self._other += len(part)
            self._parser.feed_data(part)
        if self._other > MAX_HEAD:
            raise BrokenAnswerError("its head is too long")

    def on_message_begin(self) -> None:
        self.headers = {}
        if self.ended:
            raise BrokenAnswerError("more follows the answer")

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.status:  # behind the body
            return
        key, text = name.decode("ascii").lower(), value.decode("latin-1").strip(" \t")
        if key == "transfer-encoding" and text.lower() != "chunked":
            raise BrokenAnswerError("its transfer encoding was not asked for")
        self.headers[key] = text

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if self._parser.get_http_version() not in VERSIONS or status in {0, SWITCHED}:
            raise BrokenAnswerError("this is not the protocol that was asked for")
        if status >= FINAL:
            self.status, self._keep_alive = status, self._parser.should_keep_alive()
        elif self._informational == MOST_INFORMATIONAL:
            raise BrokenAnswerError("too many responses come before the one that counts")
        self._informational += 1

    def on_body(self, data: bytes) -> None:
        self._other = 0
        self.pieces.append(data)

    def on_message_complete(self) -> None:
        self.ended = self.status > 0
