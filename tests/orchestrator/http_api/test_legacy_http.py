"""One request from a connection, whatever arrives in it."""

from http import HTTPStatus

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.http_api.legacy_http import MAX_BODY, Exchange, RefusedRequestError, read

HEAD = b"POST /process-message?x=1 HTTP/1.1\r\nHost: localhost:1\r\n"


class Pieces:
    """A connection on which these pieces arrive, and then its end."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = [piece for piece in pieces if piece]
        self.sent = b""

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """The next piece, which a test keeps smaller than the limit."""
        del max_bytes
        if not self._pieces:
            raise anyio.EndOfStream
        return self._pieces.pop(0)

    async def send(self, item: bytes) -> None:
        """Keep it."""
        self.sent += item


async def test_request_is_read_in_pieces() -> None:
    """However the bytes are cut."""
    found = await read(Pieces(HEAD[:9], HEAD[9:] + b"Content-Length: 5\r\n\r\nhe", b"llo"))
    assert found == Exchange(
        "POST", "/process-message", {"host": "localhost:1", "content-length": "5"}, b"hello"
    )


async def test_client_that_asks_first_is_told_to_go_on() -> None:
    """Curl does with a long body."""
    head = HEAD + b"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n"
    pieces = Pieces(head, b"ok")
    assert (await read(pieces)).body == b"ok"
    assert pieces.sent == b"HTTP/1.1 100 Continue\r\n\r\n"


async def test_body_without_end_is_refused() -> None:
    """Before it fills the memory."""
    head = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
    with pytest.raises(RefusedRequestError) as refused:
        await read(Pieces(head, *[chunk] * (MAX_BODY // 65_536 + 2)))
    assert refused.value.status is HTTPStatus.REQUEST_ENTITY_TOO_LARGE


@given(st.lists(st.binary(max_size=40), max_size=4))
async def test_any_bytes_are_a_request_or_refused(pieces: list[bytes]) -> None:
    """Nothing else is raised."""
    with pytest.raises((RefusedRequestError, anyio.BrokenResourceError)):
        await read(Pieces(*pieces))
