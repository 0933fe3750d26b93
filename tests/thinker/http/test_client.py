"""The HTTP client module."""

import asyncio
import gzip
import ssl
from contextlib import aclosing, suppress
from pathlib import Path

import anyio
import httpx
import pytest
from fakes.certificate import certificate
from fakes.time_limit import time_limit

from thinker.http import client
from thinker.http.client import NOT_SENT, HttpError, open_client, open_poster
from thinker.http.version import USER_AGENT

HEAD = b"HTTP/1.1 200 OK\r\nset-cookie: a=b\r\ncontent-length: %d\r\n%b\r\n"
PACKED = gzip.compress(b"ok")
ANSWER = HEAD % (2, b"") + b"ok"
ANSWER_PACKED = HEAD % (len(PACKED), b"content-encoding: gzip\r\n") + PACKED


class Listener:
    """A web server with one answer for everything that keeps what it receives."""

    def __init__(self, answer: bytes = ANSWER) -> None:
        self._answer = answer
        self.heads: list[str] = []
        self.connections = 0
        self.ended = anyio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""
        self.connections += 1
        with suppress(asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                assert await reader.readexactly(2) == b"{}"
                self.heads.append(head.decode().lower())
                writer.write(self._answer)
        writer.close()
        await writer.wait_closed()
        self.ended.set()


async def posted(
    url: str, times: int = 1, tls: ssl.SSLContext | None = None, answer: bytes = ANSWER
) -> Listener:
    """Return what a listener receives from this many posts, each read to its end."""
    listener = Listener(answer)
    async with await asyncio.start_server(listener.serve, "127.0.0.1", 0, ssl=tls) as server:
        port = server.sockets[0].getsockname()[1]
        poster = open_poster(url.format(port), {"authorization": "k"}, connect=5.0, read=5.0)
        with time_limit():
            for _ in range(times):
                async with aclosing(await poster.post(b"{}")) as response:
                    assert [piece async for piece in response.aiter_bytes()] == [b"ok"]
            await poster.aclose()
            await listener.ended.wait()
    return listener


async def test_client_has_a_bound_for_every_wait_and_follows_no_redirect() -> None:
    """A redirect could carry a key to another host."""

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(302, headers={"location": f"{request.url}/elsewhere"})

    transport = httpx.MockTransport(answer)
    async with open_client(
        "http://host/api/", connect=1.0, read=2.0, transport=transport
    ) as opened:
        assert opened.timeout == httpx.Timeout(connect=1.0, read=2.0, write=2.0, pool=1.0)
        response = await opened.get("models")
        assert (response.status_code, str(response.url)) == (302, "http://host/api/models")


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "ftp://127.0.0.1/", "http://[bad/"])
async def test_request_that_was_never_sent_is_known_as_such(url: str) -> None:
    """No listener, no such protocol, no address: repeating is safe."""
    async with open_client(connect=5.0) as opened:
        with pytest.raises(NOT_SENT):
            await opened.post(url)


async def test_posts_share_a_connection_and_keep_no_cookie() -> None:
    """Each is independent, with the headers of a client."""
    sent = await posted("http://127.0.0.1:{}/v1", 2)
    assert sent.connections == 1
    first, second = sent.heads
    assert first == second
    assert first.startswith("post /v1 http/1.1\r\n")
    assert first.endswith("\r\ncontent-length: 2\r\n\r\n")
    assert "content-type: application/json\r\nauthorization: k\r\n" in first
    assert f"user-agent: {USER_AGENT}\r\n" in first


async def test_an_answer_may_be_compressed() -> None:
    """The accept-encoding header allows it; the connection is kept."""
    sent = await posted("http://127.0.0.1:{}/v1", 2, answer=ANSWER_PACKED)
    assert (sent.connections, len(sent.heads)) == (1, 2)
    assert "accept-encoding: gzip" in sent.heads[0]


async def test_a_server_with_a_certificate_is_reached_if_it_is_the_one_that_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The certificate's name must match the address."""
    signed = certificate(tmp_path)
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    theirs.load_cert_chain(signed)
    ours = ssl.create_default_context(cafile=str(signed))
    monkeypatch.setattr(client, "tls_context", lambda: ours)
    sent = await posted("https://localhost:{}/v1", 2, theirs)
    assert (sent.connections, len(sent.heads)) == (1, 2)
    with pytest.raises(HttpError, match="not valid for"):
        await posted("https://127.0.0.1:{}/v1", 1, theirs)


async def test_a_password_in_the_address_is_sent_as_a_client_sends_it() -> None:
    """Servers with basic authentication stay reachable."""
    sent = await posted("http://user:word@127.0.0.1:{}/v1")
    assert "authorization: basic dxnlcjp3b3jk\r\n" in sent.heads[0]


async def test_a_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent's environment may name one."""
    listener = Listener()
    async with await asyncio.start_server(listener.serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
        poster = open_poster("http://model.invalid/v1", {}, connect=5.0, read=5.0)
        with time_limit():
            async with aclosing(await poster.post(b"{}")) as response:
                assert response.status_code == 200
            await poster.aclose()
            await listener.ended.wait()
    assert listener.heads[0].startswith("post http://model.invalid/v1 http/1.1\r\n")


@pytest.mark.parametrize("host", ["127.0.0.1:1", "a..b", "a" * 64])
async def test_an_unreachable_server_is_an_error_of_the_client(host: str) -> None:
    """The one error type that callers know; also for invalid addresses."""
    poster = open_poster(f"http://{host}/v1", {}, connect=5.0, read=5.0)
    with pytest.raises(HttpError):
        await poster.post(b"{}")
    await poster.aclose()
