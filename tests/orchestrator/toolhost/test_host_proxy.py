"""The proxy of a server with an allow-list, asked over real sockets."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream
from fakes.time_limit import time_limit

from orchestrator.toolhost.host_proxy import proxy


@asynccontextmanager
async def echo() -> AsyncIterator[int]:
    """A server that says back the first bytes that it got."""

    async def serve(stream: SocketStream) -> None:
        async with stream:
            await stream.send(b"got " + await stream.receive())

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        yield listener.extra_attributes[SocketAttribute.local_port]()
        tasks.cancel_scope.cancel()


async def asked(port: int, request: bytes) -> bytes:
    """All that the proxy answers to a request, until it closes."""
    answer = b""
    with time_limit():
        async with await anyio.connect_tcp("127.0.0.1", port) as client:
            await client.send(request)
            try:
                while True:
                    answer += await client.receive()
            except anyio.EndOfStream:
                return answer


async def test_allowed_host_is_reached_by_a_tunnel_and_by_a_whole_address() -> None:
    """The tunnel passes bytes as they are; of a request the host gets its own part."""
    async with echo() as web, proxy("s", {f"127.0.0.1:{web}"}) as port:
        tunnel = f"CONNECT 127.0.0.1:{web} HTTP/1.1\r\n\r\nhello".encode()
        assert (await asked(port, tunnel)).endswith(b"\r\n\r\ngot hello")
        whole = (
            f"GET http://127.0.0.1:{web}/a?b=c HTTP/1.1\r\nHost: x\r\n"
            "Proxy-Authorization: Basic secret\r\n\r\n"
        )
        got = await asked(port, whole.encode())
    assert got == b"got GET /a?b=c HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


async def test_other_hosts_and_ports_are_refused() -> None:
    """The answer says why; the name of a host with a private address does not help."""
    async with echo() as web, proxy("s", {"api.example.com:443", f"home.test:{web}"}) as port:
        for place in (f"127.0.0.1:{web}", "api.example.com:80", "other.example.com:443"):
            answer = await asked(port, f"CONNECT {place} HTTP/1.1\r\n\r\n".encode())
            assert answer.startswith(b"HTTP/1.1 403 Forbidden\r\n")
            assert answer.endswith(b"is not in the sandbox of this server\n")


async def test_name_with_an_address_of_this_machine_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The address is judged, and the very address is used: a name cannot change in between."""

    async def found(*_: object, **__: object) -> list[tuple[object, ...]]:
        return [(2, 1, 6, "", ("127.0.0.1", 443))]

    monkeypatch.setattr(anyio, "getaddrinfo", found)
    async with proxy("s", {"api.example.com:443"}) as port:
        answer = await asked(port, b"CONNECT api.example.com:443 HTTP/1.1\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert answer.endswith(b"has an address that is not public\n")


@pytest.mark.parametrize(
    "request_bytes",
    [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\r\n\r\n", b"GET https://x.test/ HTTP/1.1\r\n\r\n"],
)
async def test_what_is_no_request_to_a_proxy_is_refused(request_bytes: bytes) -> None:
    """Such as one of a program that knows no proxy."""
    async with proxy("s", {"x.test:80"}) as port:
        assert (await asked(port, request_bytes)).startswith(b"HTTP/1.1 400 Bad Request\r\n")


async def test_head_without_end_is_refused() -> None:
    """It is read up to a limit."""
    async with proxy("s", set()) as port:
        assert b"too long" in await asked(port, b"x" * 40_000)
