"""The way out: requests to servers, friendly and hostile ones."""

import gzip
import zlib

import anyio
import pytest
from fakes.web_server import ANSWER, HEAD, Listener, listening, posted

from thinker.http import connections
from thinker.http.exchange import (
    BodyTooLargeError,
    BrokenAnswerError,
    ConnectError,
    HttpError,
    SilenceError,
)
from thinker.http.version import USER_AGENT
from thinker.http.web_client import WebClient

CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
IN_PIECES = CHUNKED + b"1\r\no\r\n1;x=y\r\nk\r\n0\r\nx: y\r\n\r\n"
BARE = zlib.compressobj(wbits=-zlib.MAX_WBITS)
PACKED = {
    "gzip": gzip.compress(b"ok", mtime=0),
    "x-gzip": gzip.compress(b"ok", mtime=0),
    "Deflate": zlib.compress(b"ok"),
    "deflate": BARE.compress(b"ok") + BARE.flush(),
    "identity": b"ok",
}
MIB = 1 << 20


async def got(listener: Listener, *, read: float = 5.0, limit: int = MIB) -> bytes:
    """Return the body of one answer."""
    async with listening(listener):
        client = WebClient(read=read)
        try:
            answer = await client.send("GET", f"http://127.0.0.1:{listener.port}/")
            return await answer.read(limit)
        finally:
            client.close()


async def test_posts_share_a_connection_and_keep_no_cookie() -> None:
    """Each is independent, with the usual headers and its own."""
    listener = await posted("http://127.0.0.1:{}/v1", Listener(), 2)
    assert listener.connections == 1
    first, second = listener.heads
    assert first == second
    assert first.startswith(f"post /v1 http/1.1\r\nhost: 127.0.0.1:{listener.port}\r\n")
    assert "content-type: application/json\r\ncontent-length: 2\r\nx-own: k\r\n" in first
    assert f"user-agent: {USER_AGENT}\r\n" in first
    assert listener.bodies == [b"{}", b"{}"]


@pytest.mark.parametrize("encoding", PACKED)
async def test_an_answer_may_be_compressed(encoding: str) -> None:
    """The accept-encoding header allows it; the connection is kept."""
    packed = PACKED[encoding]
    header = f"content-encoding: {encoding}\r\n".encode()
    listener = Listener(HEAD % (len(packed), header) + packed)
    sent = await posted("http://127.0.0.1:{}/v1", listener, 2)
    assert (sent.connections, len(sent.heads)) == (1, 2)
    assert "accept-encoding: gzip" in sent.heads[0]


@pytest.mark.parametrize("cut", range(1, len(IN_PIECES), 3))
async def test_an_answer_may_come_in_parts(cut: int) -> None:
    """Cut anywhere; the connection is kept."""
    sent = await posted("http://127.0.0.1:{}/v1", Listener(IN_PIECES, cut=cut), 2)
    assert (sent.connections, len(sent.heads)) == (1, 2)


async def test_a_redirect_is_not_followed() -> None:
    """It could carry a key to another host."""
    moved = b"HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n"
    listener = Listener(moved)
    async with listening(listener):
        client = WebClient()
        answer = await client.send("GET", f"http://127.0.0.1:{listener.port}/")
        assert (answer.status, answer.is_success) == (302, False)
        answer.close()
        client.close()
    assert len(listener.heads) == 1


async def test_time_to_wait_is_passed_on() -> None:
    """With every other header, by its name in lower case."""
    busy = b"HTTP/1.1 429 Busy\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"
    listener = Listener(busy)
    async with listening(listener):
        client = WebClient()
        answer = await client.send("POST", f"http://127.0.0.1:{listener.port}/")
        assert (answer.status, answer.headers["retry-after"]) == (429, "7")
        assert await answer.read(0) == b""
        client.close()
    assert "content-length: 0\r\n" in listener.heads[0]


@pytest.mark.parametrize("value", ["a\r\nb: c", "a\nb", "\0", "é\u20ac"])
async def test_header_that_would_be_two_is_not_sent(value: str) -> None:
    """A line break in a key or an address."""
    listener = Listener()
    async with listening(listener):
        with pytest.raises(ConnectError):
            await WebClient().send("GET", f"http://127.0.0.1:{listener.port}/", {"x": value})
    assert listener.heads == []


# --- hostile servers ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nx: " + b"x" * 2 * connections.MAX_HEAD,
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 40_000,
        b"x" * 2 * connections.MAX_HEAD,
        b"HTTP/1.1 999999 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\ncontent-length: -2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2x\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\ncontent-length : 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\nok",
        b"HTTP/1.1 200 OK\ncontent-length: 2\n\nok",
        b"HTTP/2.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
        b"HTTP/1.1 000 OK\r\ncontent-length: 2\r\n\r\nok",
        b"HTTP/1.1 101 Switch\r\nupgrade: x\r\n\r\n" + ANSWER,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 1000 + ANSWER,
        b"HTTP/1.1 103 Hints\r\nx: y\r\n\r\n" * 1000,
        CHUNKED + b"zz\r\nok\r\n0\r\n\r\n",
        CHUNKED + b"-2\r\nok\r\n0\r\n\r\n",
        CHUNKED + b"2\r\nokmore\r\n0\r\n\r\n",
        CHUNKED + b"f" * 30 + b"\r\nok\r\n",
        CHUNKED + b"2;" + b"x" * 2 * connections.MAX_HEAD,
        CHUNKED + b"2\r\nok\r\n0\r\n" + b"x: y\r\n" * 40_000,
        HEAD % (20, b"content-encoding: gzip\r\n") + b"x" * 20,
        HEAD % (10, b"content-encoding: gzip\r\n") + PACKED["gzip"][:10],
        HEAD % (44, b"content-encoding: gzip\r\n") + PACKED["gzip"] * 2,
        HEAD % (2, b"content-encoding: br\r\n") + b"ok",
        HEAD % (2, b"content-encoding: gzip, gzip\r\n") + b"ok",
    ],
)
async def test_what_is_not_an_answer_is_an_error(answer: bytes) -> None:
    """And nothing is taken for the rest of it."""
    with pytest.raises(BrokenAnswerError):
        await got(Listener(answer))


@pytest.mark.parametrize(
    "begin",
    [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", CHUNKED + b"2\r\nok\r\n0\r\n"],
)
@pytest.mark.parametrize("piece", [b"x: y\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", b"x"])
async def test_what_never_ends_is_not_kept(begin: bytes, piece: bytes) -> None:
    """Lines without end are an error long before they fill the memory."""
    with pytest.raises(BrokenAnswerError):
        await got(Listener(begin, endless=piece * 1000))


@pytest.mark.parametrize("begin", [CHUNKED, b"HTTP/1.1 200 OK\r\n\r\n"])
async def test_a_body_without_end_is_read_as_far_as_the_caller_takes_it(begin: bytes) -> None:
    """The connection ends with it."""
    with pytest.raises(BodyTooLargeError):
        await got(Listener(begin, endless=b"1000\r\n" + b"x" * 0x1000 + b"\r\n"))


async def test_a_bomb_is_unpacked_as_far_as_the_caller_takes_it() -> None:
    """A gigabyte in a megabyte; no piece is large."""
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    bomb = b"".join(packer.compress(bytes(MIB)) for _ in range(256)) + packer.flush()
    listener = Listener(HEAD % (len(bomb), b"content-encoding: gzip\r\n") + bomb)
    with pytest.raises(BodyTooLargeError):
        await got(listener)
    async with listening(listener):
        client = WebClient()
        answer = await client.send("GET", f"http://127.0.0.1:{listener.port}/")
        sizes = [len(piece) async for piece in answer.iter_pieces()]
        answer.close()
        client.close()
    assert sum(sizes) == 256 * MIB
    assert max(sizes) <= connections.MAX_UNREAD_BYTES


@pytest.mark.parametrize("more", [ANSWER, b"\r\n", b"HTTP/1.1 200 OK\r\n"])
async def test_a_second_answer_behind_the_first_is_never_taken(more: bytes) -> None:
    """The next request has another connection."""
    listener = Listener(ANSWER + more)
    sent = await posted("http://127.0.0.1:{}/v1", listener, 3)
    assert sent.connections == 3


@pytest.mark.parametrize("begin", [b"", b"HTTP/1.1 200 OK\r\n", HEAD % (2, b"") + b"o"])
async def test_silence_is_not_waited_for_longer_than_was_said(begin: bytes) -> None:
    """From any point of the answer on."""
    with pytest.raises(SilenceError):
        await got(Listener(begin), read=0.01)


async def test_an_answer_is_let_go_of_once() -> None:
    """A connection that were kept twice would serve two requests at once."""
    listener = Listener()
    async with listening(listener):
        client = WebClient()
        url = f"http://127.0.0.1:{listener.port}/"
        answer = await client.send("GET", url)
        assert await answer.read(2) == b"ok"
        answer.close()
        first, second = await client.send("GET", url), await client.send("GET", url)
        assert [await first.read(2), await second.read(2)] == [b"ok", b"ok"]
        client.close()
    assert listener.connections == 2


async def test_an_abandoned_request_ends_its_connection() -> None:
    """What comes late would be the next request's answer."""
    listener = Listener(b"")
    async with listening(listener):
        client = WebClient()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.send, "GET", f"http://127.0.0.1:{listener.port}/")
            await listener.asked.wait()
            tasks.cancel_scope.cancel()
        await listener.ended.wait()
        client.close()


async def test_errors_say_nothing_of_the_address() -> None:
    """It may contain a token."""
    listener = Listener(b"nonsense\r\n\r\n")
    async with listening(listener):
        for url in ("http://x:secret@127.0.0.1:1/secret", "ftp://secret", "http://secret..x/"):
            with pytest.raises(HttpError) as caught:
                await WebClient().send("GET", url)
            assert "secret" not in f"{caught.value!r}"
        with pytest.raises(BrokenAnswerError) as broken:
            await WebClient().send("GET", f"http://127.0.0.1:{listener.port}/secret")
        assert "secret" not in f"{broken.value!r}"
