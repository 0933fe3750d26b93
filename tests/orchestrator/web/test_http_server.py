"""Connections without a request take no place and do not last."""

import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
import pytest
from anyio.abc import SocketStream
from fakes.time_limit import time_limit
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from orchestrator.web.http_server import MAX_IDLE, serve_app

HALF = b"GET / HTTP/1.1\r\nHost: local"
WHOLE = HALF + b"host\r\n\r\n"
UPGRADE = (
    b"POST / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\n"
    b"Upgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\n"
    b"Content-Length: 5\r\n\r\nhello"
)
ANSWER = PlainTextResponse("in")


@asynccontextmanager
async def server(app: ASGIApp = ANSWER) -> AsyncIterator[int]:
    """The number of a port that answers every request."""
    with time_limit(), socket.create_server(("127.0.0.1", 0)) as listener:
        # As the ports of the product: head and body of a response arrive together.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        async with serve_app(listener, app):
            yield listener.getsockname()[1]


async def connected(stack: AsyncExitStack, port: int, sent: bytes) -> SocketStream:
    """Return a connection on which these bytes were sent."""
    stream = await stack.enter_async_context(await anyio.connect_tcp("127.0.0.1", port))
    await stream.send(sent)
    return stream


async def ends(stream: SocketStream) -> bool:
    """Wait until the server drops the connection."""
    with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
        await stream.receive()
    return True


async def test_many_half_sent_heads_keep_no_request_waiting() -> None:
    """Of too many connections without a request the oldest is dropped."""
    async with server() as port, AsyncExitStack() as stack:
        streams = [await connected(stack, port, HALF) for _ in range(MAX_IDLE + 50)]
        newest = await connected(stack, port, WHOLE)
        assert b"200 OK" in await newest.receive()
        for stream in streams[:50]:
            assert await ends(stream)
        await streams[-1].send(WHOLE.removeprefix(HALF))
        assert b"200 OK" in await streams[-1].receive()


async def test_second_head_of_a_connection_has_a_time_limit_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A connection that was used once is no better."""
    monkeypatch.setattr("orchestrator.web.http_server.HEAD_TIMEOUT", 0.05)
    async with server() as port, AsyncExitStack() as stack:
        stream = await connected(stack, port, WHOLE)
        assert b"200 OK" in await stream.receive()
        await stream.send(HALF)
        assert await ends(stream)


async def test_requests_of_one_connection_are_answered_in_order() -> None:
    """Sent at once, as some clients do."""
    async with server() as port, AsyncExitStack() as stack:
        stream = await connected(stack, port, WHOLE * 2)
        received = b""
        while received.count(b"200 OK") < 2:
            received += await stream.receive()


async def test_client_that_offers_another_protocol_is_answered_in_this_one() -> None:
    """Java's client does so with every request; a body must not get lost."""

    async def echo(scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse(await Request(scope, receive).body())(scope, receive, send)

    async with server(echo) as port, AsyncExitStack() as stack:
        stream = await connected(stack, port, UPGRADE)
        for _ in range(2):
            received = await stream.receive()
            assert received.startswith(b"HTTP/1.1 200 OK\r\n")
            assert received.endswith(b"\r\n\r\nhello")
            await stream.send(UPGRADE)


async def test_as_many_requests_as_come_at_once_are_answered() -> None:
    """Whose heads are in their sockets before the server has looked at any of them."""
    answers = []

    async def ask(port: int) -> None:
        async with AsyncExitStack() as stack:
            stream = await connected(stack, port, WHOLE)
            answers.append(await stream.receive())

    async with server() as port, anyio.create_task_group() as tasks:
        for _ in range(MAX_IDLE * 3):
            tasks.start_soon(ask, port)
    assert len(answers) == MAX_IDLE * 3
    assert all(b"200 OK" in answer for answer in answers)


async def test_silent_connections_do_not_push_out_a_request_that_is_on_its_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A client has a moment between its connection and its head."""
    monkeypatch.setattr("orchestrator.web.http_server.PATIENCE", 1000.0)
    async with server() as port, AsyncExitStack() as stack:
        first = await connected(stack, port, b"")
        others = [await connected(stack, port, b"") for _ in range(MAX_IDLE + 50)]
        await first.send(WHOLE)
        assert b"200 OK" in await first.receive()
        assert len(others) > MAX_IDLE


async def test_client_beyond_all_others_is_answered_503(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it has sent its request or not; silent ones go when their moment is over."""
    monkeypatch.setattr("orchestrator.web.http_server.MAX_FRESH", MAX_IDLE)
    monkeypatch.setattr("orchestrator.web.http_server.PATIENCE", 1000.0)
    async with server() as port, AsyncExitStack() as stack:
        for _ in range(MAX_IDLE):
            await connected(stack, port, b"")
        late = await connected(stack, port, WHOLE)
        assert (await late.receive()).startswith(b"HTTP/1.1 503 Service Unavailable")
        monkeypatch.setattr("orchestrator.web.http_server.PATIENCE", 0.0)
        newest = await connected(stack, port, WHOLE)
        assert b"200 OK" in await newest.receive()
