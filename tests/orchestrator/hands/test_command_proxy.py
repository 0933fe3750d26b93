"""The proxy of commands: which hosts it asks, and what it sends them."""

import socket
from collections.abc import Iterator

import pytest
from fakes.web_pages import web_pages

from orchestrator.hands.command_proxy import CommandProxy


@pytest.fixture
def site() -> Iterator[tuple[int, list[str]]]:
    """The port of a web server, and what it was asked for."""
    with web_pages() as found:
        yield found


def asked(proxy: CommandProxy, request: str) -> str:
    """What the proxy answers to a request, until it closes the connection."""
    answer = b""
    with socket.create_connection(("127.0.0.1", proxy.port), 60) as client:
        client.sendall(request.encode())
        client.shutdown(socket.SHUT_WR)
        while part := client.recv(65536):
            answer += part
    return answer.decode()


def test_hosts_of_the_list_are_asked(site: tuple[int, list[str]]) -> None:
    """Through a tunnel or by a whole address, in whatever letters."""
    port, _ = site
    proxy = CommandProxy([f"LocalHost:{port}"])
    for first in (f"GET http://localhost:{port}/plain", f"GET http://LOCALHOST:{port}/plain"):
        assert asked(proxy, f"{first} HTTP/1.1\r\n\r\n").endswith("\r\n\r\njust text")
    tunnel = f"CONNECT localhost:{port} HTTP/1.1\r\n\r\nGET /plain HTTP/1.0\r\n\r\n"
    assert asked(proxy, tunnel).endswith("\r\n\r\njust text")


def test_others_are_not(site: tuple[int, list[str]]) -> None:
    """Another name or port, also of the same machine, and what is no request."""
    port, seen = site
    proxy = CommandProxy([f"localhost:{port}", "localhost:1"])
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
    proxy = CommandProxy([f"localhost:{port}"])
    first = f"GET http://localhost:{port}/plain HTTP/1.1\r\nHost: other.example\r\n\r\n"
    asked(proxy, first + "GET http://other.example/x HTTP/1.1\r\n\r\n")
    assert seen[0] == f"localhost:{port} /plain"
    assert not any("other.example" in line.split()[0] for line in seen)
