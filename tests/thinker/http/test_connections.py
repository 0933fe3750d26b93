"""Exchanges over kept connections, against scripted servers."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import anyio
import pytest
from fakes.time_limit import time_limit

from thinker.http import connections
from thinker.http.connections import Connections, HttpConnection
from thinker.http.exchange import BrokenAnswerError, ConnectError, HttpError, SilenceError
from thinker.http.origin import Origin, ServerRoute

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n"
LONG = OK.replace(b"content", b"x-policy: " + b"y" * 60_000 + b"\r\ncontent")
TO_THE_END = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nok"
REQUEST = b"POST /v1 HTTP/1.1\r\nhost: h\r\ncontent-length: 2\r\n\r\n{}"


class Server:
    """A server with one of ``answers`` for each request, over any number of connections.

    A connection ends after an answer that None follows; with ``reset`` it breaks.
    """

    def __init__(self, answers: Sequence[bytes | None], *, reset: bool = False) -> None:
        self._answers = list(answers)
        self._reset = reset
        self.connections = 0
        self.ended = anyio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        self.connections += 1
        self.ended = anyio.Event()
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(2)
                answer = self._answers.pop(0)
                writer.write(answer or b"")
                await writer.drain()
                if self._answers and self._answers[0] is None:
                    self._answers.pop(0)
                    break
        if self._reset:
            lingering = struct.pack("ii", 1, 0)  # what is sent at the end is a reset
            writer.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, lingering
            )
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        self.ended.set()


def way(port: int, read: float = 5.0) -> ServerRoute:
    """The way to a local server."""
    return ServerRoute(Origin("http", "127.0.0.1", port), None, 5.0, read)


@asynccontextmanager
async def connected(
    server: Server, read: float = 5.0
) -> AsyncIterator[Connections[HttpConnection]]:
    """Run connections to a server, bounded; close all at the end."""
    async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        found = Connections(way(port, read).open)
        with time_limit():
            yield found
            found.close()
            await server.ended.wait()


async def exchange(found: Connections[HttpConnection]) -> bytes:
    """Make one whole exchange; return the body of the response."""
    connection = await found.take_connection()
    try:
        await connection.send_request(REQUEST)
        assert connection.status == 200
        return b"".join([piece async for piece in connection.iter_body()])
    finally:
        found.give_back(connection)


@pytest.mark.parametrize("answer", [OK, CHUNKED, LONG, b"HTTP/1.1 100 Continue\r\n\r\n" + OK])
async def test_a_connection_is_used_again(answer: bytes) -> None:
    """However the end of the response is marked, and after informational responses."""
    server = Server([answer, answer, answer])
    async with connected(server) as found:
        assert [await exchange(found) for _ in range(3)] == [b"ok"] * 3
    assert server.connections == 1


async def test_an_answer_may_end_with_its_connection() -> None:
    """The next exchange opens another one."""
    server = Server([TO_THE_END, None, OK])
    async with connected(server) as found:
        assert [await exchange(found) for _ in range(2)] == [b"ok"] * 2
    assert server.connections == 2


async def test_a_connection_that_the_server_closed_meanwhile_is_not_used() -> None:
    """No request is lost on it."""
    server = Server([OK, None, OK])
    async with connected(server) as found:
        await exchange(found)
        await server.ended.wait()
        await anyio.wait_all_tasks_blocked()
        assert await exchange(found) == b"ok"
    assert server.connections == 2


async def test_a_connection_with_unrequested_data_is_not_used() -> None:
    """The data would be taken for the next response."""
    server = Server([OK + OK, OK])
    async with connected(server) as found:
        assert [await exchange(found) for _ in range(2)] == [b"ok"] * 2
    assert server.connections == 2


@pytest.mark.parametrize("told", ["timeout=1", "max=5, Timeout = 1", "timeout=0"])
async def test_a_connection_that_the_server_will_close_is_not_used(told: str) -> None:
    """It says how long it waits; the request needs a moment to get there."""
    brief = OK.replace(b"content", f"keep-alive: {told}\r\ncontent".encode())
    server = Server([brief, OK])
    async with connected(server) as found:
        assert [await exchange(found) for _ in range(2)] == [b"ok"] * 2
    assert server.connections == 2


@pytest.mark.parametrize("told", ["timeout=600", "timeout", "timeout=x", ""])
async def test_other_words_about_keeping_change_nothing(told: str) -> None:
    """Ours is shorter than what most servers wait."""
    kept = OK.replace(b"content", f"keep-alive: {told}\r\ncontent".encode())
    server = Server([kept, OK])
    async with connected(server) as found:
        assert [await exchange(found) for _ in range(2)] == [b"ok"] * 2
    assert server.connections == 1


async def test_a_few_idle_connections_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a rush, the others are closed."""
    monkeypatch.setattr(connections, "MAX_IDLE_CONNECTIONS", 1)
    server = Server([OK])
    async with connected(server) as found:
        for connection in [await found.take_connection() for _ in range(3)]:
            found.give_back(connection)
        assert await exchange(found) == b"ok"
        assert len(found._idle) == 1


async def test_a_connection_is_opened_before_it_is_needed_and_only_one() -> None:
    """The request that comes meanwhile waits for it; nothing happens when one is idle."""
    server = Server([OK, OK])
    async with connected(server) as found:
        for _ in range(3):
            found.warm_connection()
        assert await exchange(found) == b"ok"
        found.warm_connection()
        assert await exchange(found) == b"ok"
    assert server.connections == 1


async def test_a_server_that_cannot_be_warmed_up_is_said_by_the_request() -> None:
    """Once; the next request tries again."""
    found = Connections(way(1).open)
    for _ in range(2):
        found.warm_connection()
        with pytest.raises(ConnectError):
            await found.take_connection()
    found.close()


async def test_a_pool_that_is_closed_stops_connecting() -> None:
    """Nothing is left over."""
    server = Server([])
    async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listener:
        found = Connections(way(listener.sockets[0].getsockname()[1]).open)
        found.warm_connection()
        found.close()
        await anyio.wait_all_tasks_blocked()
    assert server.connections == 0


async def test_exchanges_at_once_have_a_connection_each() -> None:
    """HTTP/1.1 allows one exchange at a time."""
    server = Server([OK, OK])
    async with connected(server) as found:
        first, second = await found.take_connection(), await found.take_connection()
        for connection in (first, second):
            await connection.send_request(REQUEST)
            assert [piece async for piece in connection.iter_body()] == [b"ok"]
            found.give_back(connection)
    assert server.connections == 2


async def test_an_answer_that_is_not_read_to_its_end_ends_its_connection() -> None:
    """The rest would be taken for the next response."""
    server = Server([OK, OK])
    async with connected(server) as found:
        connection = await found.take_connection()
        await connection.send_request(REQUEST)
        found.give_back(connection)
        assert await exchange(found) == b"ok"
    assert server.connections == 2


async def test_an_idle_connection_is_closed_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server must not keep it for nothing."""
    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.0)
    server = Server([OK])
    async with connected(server) as found:
        await exchange(found)
        await server.ended.wait()


@pytest.mark.parametrize(
    ("answer", "reset"),
    [
        (b"", False),
        (OK[:-1], False),
        (TO_THE_END, True),
        (b"SMTP\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\nx: " + b"x" * 100_000, False),
    ],
)
async def test_what_is_no_whole_answer_is_an_error(answer: bytes, *, reset: bool) -> None:
    """A broken connection does not end a response without a length."""
    async with connected(Server([answer, None], reset=reset)) as found:
        with pytest.raises(BrokenAnswerError):
            await exchange(found)


async def test_silence_is_not_waited_for_longer_than_was_said() -> None:
    """Before a response, and in its middle."""
    async with connected(Server([OK[:-1]]), read=0.01) as found:
        with pytest.raises(SilenceError):
            await exchange(found)


async def test_a_connection_that_died_in_silence_is_noticed_soon() -> None:
    """A machine that slept, a router that forgot it: the kernel says so long before we would."""
    async with connected(Server([OK])) as found:
        connection = await found.take_connection()
        found.give_back(connection)
        sock = connection.transport.get_extra_info("socket")
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 20_000
        assert await exchange(found) == b"ok"


async def test_an_unreachable_server_is_an_error() -> None:
    """A connection error, before anything is sent."""
    with pytest.raises(ConnectError):
        await Connections(way(1).open).take_connection()


async def test_a_closed_connection_sends_nothing() -> None:
    """A request on it fails like one whose server hung up."""
    async with connected(Server([OK])) as found:
        connection: HttpConnection = await found.take_connection()
        connection.abort_connection()
        with pytest.raises(HttpError):
            await connection.send_request(REQUEST)
