"""The ways to servers: addresses, certificates and proxies."""

import ssl
from pathlib import Path

import pytest
from fakes.certificate import certificate
from fakes.time_limit import time_limit
from fakes.web_server import ANSWER, Listener, listening, posted

from thinker.http import origin
from thinker.http.exchange import ConnectError
from thinker.http.web_client import WebClient


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """What a server on localhost has, whose certificate we trust."""
    signed = certificate(tmp_path)
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    found.load_cert_chain(signed)
    ours = ssl.create_default_context(cafile=str(signed))
    monkeypatch.setattr(origin, "tls_context", lambda: ours)
    return found


async def test_a_server_with_a_certificate_is_reached_if_it_is_the_one_that_is_meant(
    theirs: ssl.SSLContext,
) -> None:
    """The certificate's name must match the address."""
    sent = await posted("https://localhost:{}/v1", Listener(), 2, theirs)
    assert (sent.connections, len(sent.heads)) == (1, 2)
    with pytest.raises(ConnectError, match="not valid for"):
        await posted("https://127.0.0.1:{}/v1", Listener(), 1, theirs)


async def test_a_password_in_the_address_is_sent_as_a_header_alone() -> None:
    """Servers with basic authentication stay reachable."""
    sent = await posted("http://us%65r:word@127.0.0.1:{}/v1", Listener())
    assert "authorization: basic dxnlcjp3b3jk\r\n" in sent.heads[0]
    assert "word" not in sent.heads[0]


@pytest.mark.parametrize(
    ("path", "target"),
    [("", "/"), ("/a b?c=d e", "/a%20b?c=d%20e"), ("/%2f?", "/%2f"), ("/é#x", "/%c3%a9")],
)
async def test_an_address_is_sent_as_a_target(path: str, target: str) -> None:
    """What may not stand in it is encoded."""
    sent = await posted("http://127.0.0.1:{}" + path, Listener())
    assert sent.heads[0].startswith(f"post {target} http/1.1\r\n")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/v1",
        "http://a..b/v1",
        f"http://{'a' * 64}/v1",
        "ftp://127.0.0.1/",
        "http://[bad/",
        "http://127.0.0.1:x/",
        "/v1",
        "",
    ],
)
async def test_request_that_was_never_sent_is_known_as_such(url: str) -> None:
    """No listener, no such protocol, no address: repeating is safe."""
    with time_limit(), pytest.raises(ConnectError):
        await WebClient(connect=5.0).send("POST", url)


async def test_a_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its password, for the hosts that are not excepted."""
    listener, direct = Listener(), Listener()
    async with listening(listener), listening(direct):
        monkeypatch.setenv("http_proxy", f"http://user:word@127.0.0.1:{listener.port}")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1,.near.invalid")
        client = WebClient()
        for url in ("http://model.invalid/v1?a", f"http://127.0.0.1:{direct.port}/v1"):
            assert await (await client.send("POST", url, {}, b"{}")).read(2) == b"ok"
        client.close()
        await listener.ended.wait()
    (asked,) = listener.heads
    assert asked.startswith("post http://model.invalid/v1?a http/1.1\r\nhost: model.invalid\r\n")
    assert "proxy-authorization: basic dxnlcjp3b3jk\r\n" in asked
    assert direct.heads[0].startswith("post /v1 http/1.1\r\n")
    assert "proxy" not in direct.heads[0]


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_connects_to_servers_with_certificates(
    scheme: str, theirs: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It sees the server's name alone, and its password; its own connection may be secret, too."""
    listener = Listener(tunnels=theirs)
    async with listening(listener, theirs if scheme == "https" else None):
        proxy = f"{scheme}://user:word@localhost:{listener.port}"
        monkeypatch.setenv("all_proxy", proxy)
        client = WebClient()
        for _ in range(2):
            sent = await client.send("POST", "https://localhost/v1", {"x-key": "k"}, b"{}")
            assert await sent.read(2) == b"ok"
        client.close()
        await listener.ended.wait()
    tunnel, *asked = listener.heads
    assert listener.connections == 1
    assert tunnel.startswith("connect localhost:443 http/1.1\r\nhost: localhost:443\r\n")
    assert "proxy-authorization: basic dxnlcjp3b3jk\r\n" in tunnel
    assert "x-key" not in tunnel
    assert [head.startswith("post /v1 http/1.1\r\nhost: localhost\r\n") for head in asked] == [
        True,
        True,
    ]
    assert "proxy" not in asked[0]


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1 407 Password\r\ncontent-length: 0\r\n\r\n", ANSWER, b"no proxy", b""],
)
async def test_a_proxy_that_does_not_connect_is_an_error_before_anything_is_sent(
    answer: bytes, theirs: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it answers, no request leaves."""
    del theirs
    listener = Listener(answer)
    async with listening(listener):
        monkeypatch.setenv("https_proxy", f"127.0.0.1:{listener.port}")
        with pytest.raises(ConnectError):
            await WebClient(connect=0.2).send("POST", "https://localhost/v1", {}, b"secret")
    assert b"secret" not in b"".join(listener.bodies)


async def test_a_proxy_of_a_kind_that_we_cannot_use_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Connecting without it would go around it."""
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:1")
    with pytest.raises(ConnectError):
        await WebClient().send("GET", "http://127.0.0.1:1/")
