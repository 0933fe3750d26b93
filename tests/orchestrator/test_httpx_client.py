"""Posts with httpx: what reaches a server, and what is known when no answer comes."""

import gzip
import logging
import ssl
from pathlib import Path

import anyio
import pytest
from fakes.certificate import certificate
from fakes.web_server import ANSWER, HEAD, Listener, listening

from orchestrator import httpx_client
from orchestrator.httpx_client import MAX_BODY, HttpReply, post
from thinker.http.exchange import BrokenAnswerError, ConnectError, HttpError
from thinker.http.version import USER_AGENT

URL = "http://127.0.0.1:{}/v1"
SECONDS = 60.0
BOMB = gzip.compress(bytes(10 * MAX_BODY), mtime=0)


async def posted(
    listener: Listener,
    url: str = URL,
    *,
    times: int = 1,
    tls: ssl.SSLContext | None = None,
    value: str = "k",
) -> HttpReply:
    """The last of this many answers."""
    async with listening(listener, tls):
        for _ in range(times):
            reply = await post(url.format(listener.port), {"x-own": value}, b"{}", SECONDS)
    return reply


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """What a server on localhost has, whose certificate we trust."""
    signed = certificate(tmp_path)
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    found.load_cert_chain(signed)
    ours = ssl.create_default_context(cafile=str(signed))
    monkeypatch.setattr(httpx_client, "tls_context", lambda: ours)
    return found


async def test_posts_have_a_connection_of_their_own_and_keep_no_cookie() -> None:
    """Each is independent, with the program's name and what its caller says."""
    listener = Listener()
    reply = await posted(listener, times=2)
    assert (reply.status, reply.body, reply.headers["set-cookie"]) == (200, b"ok", "a=b")
    assert listener.connections == 2
    first, second = listener.heads
    assert first == second
    assert first.startswith(f"post /v1 http/1.1\r\nhost: 127.0.0.1:{listener.port}\r\n")
    assert "x-own: k\r\n" in first
    assert f"user-agent: {USER_AGENT}\r\n" in first
    assert listener.bodies == [b"{}", b"{}"]


async def test_a_redirect_is_not_followed() -> None:
    """It could carry a key to another host."""
    listener = Listener(b"HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n")
    assert (await posted(listener)).status == 302
    assert len(listener.heads) == 1


async def test_nothing_is_unpacked() -> None:
    """Few bytes could become many; so no server is asked to pack, and one that does is taken so."""
    listener = Listener(HEAD % (len(BOMB), b"content-encoding: gzip\r\n") + BOMB)
    assert (await posted(listener)).body == BOMB
    assert "accept-encoding: identity\r\n" in listener.heads[0]


@pytest.mark.parametrize(
    "begin", [b"HTTP/1.1 503 Busy\r\nretry-after: 7\r\n\r\n", HEAD % (10**9, b"")]
)
async def test_a_body_without_end_is_read_in_part(begin: bytes) -> None:
    """The status and the headers count."""
    reply = await posted(Listener(begin, endless=b"x" * 4096))
    assert reply.body == b"x" * MAX_BODY
    assert reply.status == int(begin[9:12])
    assert reply.headers.get("retry-after") == ("7" if reply.status == 503 else None)


async def test_a_body_that_never_comes_leaves_the_status(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server has acted."""
    monkeypatch.setattr(httpx_client, "BODY", 0.01)
    reply = await posted(Listener(HEAD % (3, b"") + b"o"))
    assert (reply.status, reply.body) == (200, b"o")


async def test_a_body_that_breaks_leaves_the_status() -> None:
    """What has arrived of it is there."""
    chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    reply = await posted(Listener(chunked + b"1\r\no\r\nzz\r\n"))
    assert (reply.status, reply.body) == (200, b"o")


@pytest.mark.parametrize("begin", [b"", b"HTTP/1.1 200 OK\r\n"])
async def test_silence_is_not_waited_for_longer_than_was_said(begin: bytes) -> None:
    """The connection ends with it."""
    listener = Listener(begin)
    async with listening(listener):
        with pytest.raises(TimeoutError):
            await post(URL.format(listener.port), {}, b"{}", 0.05)
        await listener.ended.wait()


@pytest.mark.parametrize(
    "answer",
    [
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"x" * 300_000,
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 40_000,
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\ncontent-length: -2\r\n\r\nok",
    ],
)
async def test_what_is_not_an_answer_is_an_error_without_the_address(answer: bytes) -> None:
    """The server may have acted on the request; its address may hold a key."""
    with pytest.raises(BrokenAnswerError) as caught:
        await posted(Listener(answer), f"{URL}/secret")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("value", ["a\r\nb: c", "a\nb", "\0", "é\u20ac"])
async def test_header_that_would_be_two_is_not_sent(value: str) -> None:
    """A line break in a key."""
    listener = Listener()
    with pytest.raises(ConnectError):
        await posted(listener, value=value)
    assert listener.heads == []


@pytest.mark.parametrize(
    "url", ["http://x:secret@127.0.0.1:1/secret", "ftp://secret", "http://secret..x/", "secret"]
)
async def test_what_never_left_is_told_apart_without_the_address(url: str) -> None:
    """It is safe to send it again."""
    with pytest.raises(ConnectError) as caught:
        await post(url, {}, b"{}", SECONDS)
    assert "secret" not in f"{caught.value!r}"


async def test_a_refused_connection_says_where() -> None:
    """Httpx alone would say that all attempts failed."""
    with pytest.raises(ConnectError, match=r"Connect call failed \('127.0.0.1', 1\)"):
        await post("http://127.0.0.1:1/", {}, b"{}", SECONDS)


async def test_a_server_with_a_certificate_is_reached_if_it_is_the_one_that_is_meant(
    theirs: ssl.SSLContext,
) -> None:
    """The certificate's name must match the address."""
    listener = Listener()
    assert (await posted(listener, "https://localhost:{}/v1", tls=theirs)).body == b"ok"
    with pytest.raises(ConnectError, match="not valid for"):
        await posted(Listener(), "https://127.0.0.1:{}/v1", tls=theirs)


async def test_a_password_in_the_address_is_sent_as_a_header_alone() -> None:
    """Servers with basic authentication are reached."""
    listener = Listener()
    await posted(listener, "http://us%65r:word@127.0.0.1:{}/v1")
    assert "authorization: basic dxnlcjp3b3jk\r\n" in listener.heads[0]
    assert "word" not in listener.heads[0]


async def test_a_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its password; one of another kind, for other addresses, does not matter."""
    proxy = Listener()
    async with listening(proxy):
        monkeypatch.setenv("http_proxy", f"http://us%65r:word@127.0.0.1:{proxy.port}")
        monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:1")
        reply = await post("http://collector.example/v1", {}, b"{}", SECONDS)
        monkeypatch.delenv("http_proxy")
        with pytest.raises(ConnectError):
            await post("http://collector.example/v1", {}, b"{}", SECONDS)
    assert reply.body == b"ok"
    assert proxy.heads[0].startswith("post http://collector.example/v1 http/1.1\r\n")
    assert "proxy-authorization: basic dxnlcjp3b3jk\r\n" in proxy.heads[0]


async def test_a_proxy_makes_a_tunnel_to_a_server_with_a_certificate(
    theirs: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that makes none is told apart from a server that has acted."""
    proxy = Listener(tunnels=theirs)
    async with listening(proxy):
        monkeypatch.setenv("https_proxy", f"127.0.0.1:{proxy.port}")
        reply = await post("https://localhost:4711/v1", {}, b"{}", SECONDS)
    assert reply.body == b"ok"
    assert proxy.heads[0].startswith("connect localhost:4711 http/1.1\r\n")
    refusing = Listener(b"HTTP/1.1 403 No\r\ncontent-length: 0\r\n\r\n")
    async with listening(refusing):
        monkeypatch.setenv("https_proxy", f"127.0.0.1:{refusing.port}")
        with pytest.raises(ConnectError):
            await post("https://localhost:4711/v1", {}, b"{}", SECONDS)


async def test_an_abandoned_request_ends_its_connection() -> None:
    """What comes late would be the next request's answer."""
    listener = Listener(b"")
    async with listening(listener):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(post, URL.format(listener.port), {}, b"{}", SECONDS)
            await listener.asked.wait()
            tasks.cancel_scope.cancel()
        await listener.ended.wait()


async def test_a_second_answer_behind_the_first_is_never_taken() -> None:
    """The next request has another connection."""
    listener = Listener(ANSWER + ANSWER)
    await posted(listener, times=3)
    assert listener.connections == 3


async def test_no_address_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Httpx does so at info, and a webhook's address may hold a key."""
    caplog.set_level(logging.INFO)
    with pytest.raises(HttpError):
        await posted(Listener(b"nonsense\r\n\r\n"), f"{URL}/secret")
    await posted(Listener(), f"{URL}/secret")
    assert "secret" not in caplog.text
