"""The proxy of jails: which hosts it asks, and what it sends them."""

import socket
from collections.abc import Iterator
from contextlib import closing
from threading import Thread

import pytest
from fakes.web_pages import web_pages

from orchestrator.jail_broker.host_proxy import HostProxy


@pytest.fixture
def site() -> Iterator[tuple[int, list[str]]]:
    """The port of a web server, and what it was asked for."""
    with web_pages() as found:
        yield found


def asked(proxy: HostProxy, request: str) -> str:
    """What the proxy answers to a request, until it closes the connection."""
    answer = b""
    with socket.create_connection(("127.0.0.1", proxy.port), 60) as client:
        client.sendall(request.encode())
        client.shutdown(socket.SHUT_WR)
        while part := client.recv(65536):
            answer += part
    return answer.decode()


@pytest.fixture
def echo() -> Iterator[int]:
    """The port of a server that says back the first bytes that it got."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            client, _ = listener.accept()
            with client:
                client.sendall(b"got " + client.recv(65536))

        thread = Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


def test_hosts_of_the_list_are_asked(site: tuple[int, list[str]]) -> None:
    """Through a tunnel or by a whole address, in whatever letters."""
    port, _ = site
    proxy = HostProxy([f"LocalHost:{port}"])
    for first in (f"GET http://localhost:{port}/plain", f"GET http://LOCALHOST:{port}/plain"):
        assert asked(proxy, f"{first} HTTP/1.1\r\n\r\n").endswith("\r\n\r\njust text")
    tunnel = f"CONNECT localhost:{port} HTTP/1.1\r\n\r\nGET /plain HTTP/1.0\r\n\r\n"
    assert asked(proxy, tunnel).endswith("\r\n\r\njust text")


def test_others_are_not(site: tuple[int, list[str]]) -> None:
    """Another name or port, also of the same machine, and what is no request."""
    port, seen = site
    proxy = HostProxy([f"localhost:{port}", "localhost:1"])
    for request in (
        f"GET http://127.0.0.1:{port}/plain HTTP/1.1",
        "GET http://localhost/plain HTTP/1.1",
        f"CONNECT localhost:{port + 1} HTTP/1.1",
        f"CONNECT 127.0.0.1:{port} HTTP/1.1",
        f"GET http://localhost:1@127.0.0.1:{port}/ HTTP/1.1",
        f"GET /plain HTTP/1.1\r\nHost: localhost:{port}",
        "nonsense",
    ):
        assert "just text" not in asked(proxy, f"{request}\r\n\r\n")
    assert "502" in asked(proxy, "CONNECT localhost:1 HTTP/1.1\r\n\r\n")
    assert seen == []


def test_one_connection_asks_one_host(site: tuple[int, list[str]]) -> None:
    """A second request on it does not reach the server, and a name in the head does not count."""
    port, seen = site
    proxy = HostProxy([f"localhost:{port}"])
    first = f"GET http://localhost:{port}/plain HTTP/1.1\r\nHost: other.example\r\n\r\n"
    asked(proxy, first + "GET http://other.example/x HTTP/1.1\r\n\r\n")
    assert seen[0] == f"localhost:{port} /plain"
    assert not any("other.example" in line.split()[0] for line in seen)


def test_tunnel_passes_bytes_as_they_are(echo: int) -> None:
    """What came with the request is not lost."""
    with closing(HostProxy([f"127.0.0.1:{echo}"])) as proxy:
        tunnel = f"CONNECT 127.0.0.1:{echo} HTTP/1.1\r\n\r\nhello"
        assert asked(proxy, tunnel).endswith("\r\n\r\ngot hello")


def test_host_gets_its_own_part_of_a_request(echo: int) -> None:
    """Under the name that was allowed, without what is for the proxy."""
    with closing(HostProxy([f"127.0.0.1:{echo}"])) as proxy:
        whole = (
            f"GET http://127.0.0.1:{echo}?b=c HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic s"
        )
        got = asked(proxy, f"{whole}\r\nAccept: */*\r\n\r\n")
    host = f"Host: 127.0.0.1:{echo}\r\nConnection: close\r\nAccept: */*"
    assert got == f"got GET /?b=c HTTP/1.1\r\n{host}\r\n\r\n"


def test_refused_hosts_are_told() -> None:
    """In the answer, and to what made the proxy."""
    told: list[str] = []
    with closing(HostProxy(["api.example.com:443"], told.append)) as proxy:
        for place in ("127.0.0.1:443", "api.example.com:80", "other.example.com:443"):
            answer = asked(proxy, f"CONNECT {place} HTTP/1.1\r\n\r\n")
            assert answer.startswith("HTTP/1.1 403 Forbidden\r\n")
            assert answer.endswith(f"{place} is not among the allowed hosts\n")
            assert told.pop() == f"{place} is not among the allowed hosts"


def test_name_with_an_address_of_this_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The address is judged, and the very address is used: a name cannot change in between."""

    def found(*_: object, **__: object) -> list[tuple[object, ...]]:
        return [(2, 1, 6, "", ("127.0.0.1", 443))]

    with closing(HostProxy(["api.example.com:443"])) as proxy:
        connection = socket.create_connection(("127.0.0.1", proxy.port), 60)
        monkeypatch.setattr(socket, "getaddrinfo", found)
        with connection:
            connection.sendall(b"CONNECT api.example.com:443 HTTP/1.1\r\n\r\n")
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert answer.endswith(b"has an address that is not public\n")


@pytest.mark.parametrize(
    "request_text",
    ["GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\r\n\r\n", "GET https://x.test/ HTTP/1.1\r\n\r\n"],
)
def test_what_is_no_request_to_a_proxy_is_refused(request_text: str) -> None:
    """Such as one of a program that knows no proxy."""
    with closing(HostProxy(["x.test:80"])) as proxy:
        assert asked(proxy, request_text).startswith("HTTP/1.1 400 Bad Request\r\n")


def test_head_without_end_is_refused() -> None:
    """It is read up to a limit."""
    with closing(HostProxy([])) as proxy:
        assert "too long" in asked(proxy, "x" * 40_000)


def test_closed_proxy_ends_its_connections() -> None:
    """One that is silent, too; and no more are accepted."""
    with socket.create_server(("127.0.0.1", 0)) as web:
        place = f"127.0.0.1:{web.getsockname()[1]}"
        proxy = HostProxy([place])
        with socket.create_connection(("127.0.0.1", proxy.port), 60) as client:
            client.sendall(f"CONNECT {place} HTTP/1.1\r\n\r\n".encode())
            assert client.recv(65536).startswith(b"HTTP/1.1 200")
            proxy.close()
            assert client.recv(65536) == b""
        with pytest.raises(OSError, match=r"refused|reset"):
            asked(proxy, "x")
