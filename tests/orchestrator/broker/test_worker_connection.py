"""What a worker can and cannot do through the broker."""

import asyncio
import socket
from contextlib import aclosing, suppress

import anyio
import pytest
from fakes.brokered import KEY, OK, Brokered, brokered
from structlog.testing import capture_logs

from orchestrator.broker import worker_connection
from thinker.http.client import HttpError, JsonPoster, open_poster

STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
HELLO = b'{"say": "hello"}'


def poster(run: Brokered, url: str = "") -> JsonPoster:
    """What a worker posts with."""
    headers = {"authorization": "Bearer its-own", "anthropic-version": "1"}
    return open_poster(url or run.provider.url, headers, connect=5.0, read=5.0, transport=run.link)


async def posted(run: Brokered, url: str = "") -> tuple[int, dict[str, str], bytes]:
    """Post and read the whole answer."""
    sender = poster(run, url)
    async with aclosing(await sender.post(HELLO)) as response:
        body = b"".join([piece async for piece in response.aiter_bytes()])
        found = response.status_code, dict(response.headers), body
    await sender.aclose()
    return found


def request(target: str, *more: str, method: str = "POST", body: str = "{}") -> bytes:
    """A raw request with these header lines."""
    lines = [f"{method} {target} HTTP/1.1", "host: x", *more, "", body]
    return "\r\n".join(lines).encode("latin-1")


async def test_request_gets_the_key_and_loses_what_the_worker_may_not_say() -> None:
    """Only its body and the version of the format pass."""
    async with brokered() as run:
        assert (await posted(run))[::2] == (200, b"ok")
        (head,) = run.provider.heads
        assert run.provider.bodies == [HELLO]
    assert head.startswith("post /v1/chat http/1.1\r\n")
    assert f"authorization: bearer {KEY}\r\n" in head
    assert "anthropic-version: 1\r\n" in head
    assert "its-own" not in head
    assert "x-call-id" not in head


async def test_answer_keeps_only_headers_that_a_worker_needs() -> None:
    """No cookie; the time to wait and the request's id."""
    extra = (
        b"set-cookie: a=b\r\nretry-after: 3\r\nx-request-id: r1\r\nx-broker-failure: ReadError\r\n"
    )
    async with brokered(OK.replace(b"content-length", extra + b"content-length")) as run:
        _, headers, body = await posted(run)
    assert headers.pop("x-call-id")
    assert headers == {
        "content-type": "application/json",
        "retry-after": "3",
        "x-request-id": "r1",
        "transfer-encoding": "chunked",
    }
    assert body == b"ok"


async def test_connections_to_the_provider_are_shared() -> None:
    """A second worker's connection needs no new one."""
    async with brokered() as run:
        for _ in range(3):
            await posted(run)
        assert run.provider.connections == 1


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("{url}/../admin", 403),
        ("{url}/", 403),
        ("{url}?a=b", 403),
        ("/v1/chat", 403),
        ("http://127.0.0.1:1/v1/chat", 403),
        ("{url}%2e", 403),
        ("http://x@{host}/v1/chat", 403),
        ("https://{host}/v1/chat", 403),
    ],
)
async def test_any_other_address_is_refused(target: str, status: int) -> None:
    """Also one that only looks like the agent's."""
    async with brokered() as run:
        host = run.provider.url.split("/")[2]
        text = target.format(url=run.provider.url, host=host)
        answer = await run.talk(request(text, "content-length: 2"))
        assert run.provider.heads == []
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert b"the broker refused the request" in answer


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "CONNECT", "OPTIONS"])
async def test_any_other_method_is_refused(method: str) -> None:
    """An agent may post, nothing else."""
    async with brokered() as run:
        text = request(run.provider.url, "content-length: 2", method=method)
        assert (await run.talk(text)).startswith(b"HTTP/1.1 405 ")
        assert run.provider.heads == []


@pytest.mark.parametrize(
    "lines",
    [
        ("content-length: 2", "content-length: 40"),
        ("content-length: 2, 40",),
        ("transfer-encoding: chunked",),
        ("transfer-encoding: chunked", "content-length: 2"),
        ("content-length: 2", "transfer-encoding: identity"),
        ("content-length: -1",),
        ("content-length: 2", "x: a\rb: c"),
        ("content-length: 2", "x y: c"),
        ("content-length: 2", " folded: first"),
        ("content-length: 2", "x: \0"),
    ],
)
async def test_request_with_two_meanings_is_refused(lines: tuple[str, ...]) -> None:
    """Nothing of it reaches the provider."""
    async with brokered() as run:
        answer = await run.talk(request(run.provider.url, *lines))
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert run.provider.heads == []


async def test_second_request_behind_the_first_is_not_made() -> None:
    """A worker waits for its answer; what it sends meanwhile ends the connection."""
    async with brokered() as run:
        one = request(run.provider.url, "content-length: 2")
        await run.talk(one + request(run.provider.url, "content-length: 2", "x: smuggled"))
        assert len(run.provider.heads) <= 1
        assert "smuggled" not in "".join(run.provider.heads)


async def test_headers_and_bodies_have_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker cannot fill the broker's memory."""
    monkeypatch.setattr(worker_connection, "MAX_BODY", 1000)
    async with brokered() as run:
        long = request(run.provider.url, "content-length: 2", "x: " + "y" * 600_000)
        with suppress(ConnectionError):  # it ends before everything is sent
            await run.talk(long)
        large = request(run.provider.url, "content-length: 2000", body="x" * 2000)
        assert (await run.talk(large)).startswith(b"HTTP/1.1 413 ")
        assert run.provider.heads == []


async def test_request_that_is_not_finished_in_time_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A half-sent head holds nothing for ever."""
    monkeypatch.setattr(worker_connection, "REQUEST_SECONDS", 0.05)
    async with brokered() as run:
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(run.link.channel, [b"."], [theirs.fileno()])
        reader, writer = await asyncio.open_connection(sock=ours)
        writer.write(b"POST http://x HTTP/1.1\r\nhost")
        assert await reader.read() == b""
        writer.close()


async def test_answer_that_a_worker_never_reads_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would hold a connection to the provider for ever."""
    monkeypatch.setattr(worker_connection, "ANSWER_SECONDS", 0.05)
    piece = b"%x\r\n%b\r\n" % (1 << 20, b"x" * (1 << 20))
    async with brokered(STREAM + piece * 16 + b"CUT") as run:
        response = await poster(run).post(HELLO)
        await run.provider.ended.wait()
        await response.aclose()


async def test_flood_of_connections_keeps_no_other_worker_waiting() -> None:
    """Those beyond the limit are closed, and said once in the log."""
    async with brokered() as run:
        held = [socket.socketpair() for _ in range(100)]
        with capture_logs() as logged:
            for _, theirs in held:
                socket.send_fds(run.link.channel, [b"."], [theirs.fileno()])
                theirs.close()
                await anyio.lowlevel.checkpoint()
            while len(run.host._channels[1][1].connections) < 64 or not logged:
                await anyio.lowlevel.checkpoint()
        for ours, _ in held:
            ours.close()
        while run.host._channels[1][1].connections:
            await anyio.lowlevel.checkpoint()
        assert (await posted(run))[0] == 200
    assert [entry["event"] for entry in logged] == ["request_refused"]


async def test_descriptor_that_is_no_stream_is_dropped() -> None:
    """A file, or a socket of another kind."""
    async with brokered() as run:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as odd:
            socket.send_fds(run.link.channel, [b"."], [odd.fileno()])
        with open("/dev/null", "rb") as file:  # noqa: ASYNC230, PTH123 - a descriptor to send
            socket.send_fds(run.link.channel, [b"."], [file.fileno()])
        assert (await posted(run))[0] == 200


@pytest.mark.parametrize("cut", range(1, len(KEY)))
async def test_key_in_an_answer_is_removed_wherever_it_is_split(cut: int) -> None:
    """Between any two pieces of a stream."""
    text = f"the key is {KEY}!".encode()
    at = text.index(KEY.encode()) + cut
    pieces = b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in (text[:at], text[at:]))
    async with brokered(STREAM + pieces + b"0\r\n\r\n") as run:
        assert (await posted(run))[2] == b"the key is [key]!"


async def test_key_in_an_error_or_a_header_is_removed() -> None:
    """A provider may quote what it was sent."""
    answer = (
        b"HTTP/1.1 401 No\r\nx-request-id: %b\r\ncontent-type: application/json\r\n"
        b"content-length: %d\r\n\r\n%b" % (KEY.encode(), len(KEY), KEY.encode())
    )
    async with brokered(answer) as run:
        status, headers, body = await posted(run)
    assert (status, headers["x-request-id"], body) == (401, "[key]", b"[key]")


async def test_failure_to_connect_is_known_as_such() -> None:
    """The worker sees the error that it would have had without a broker."""
    async with brokered() as run:
        with socket.create_server(("127.0.0.1", 0)) as closed:
            port = closed.getsockname()[1]
        run.host._channels[1][1].grants = {
            f"http://127.0.0.1:{port}/v1/chat".encode(): next(
                iter(run.host._channels[1][1].grants.values())
            ).model_copy(update={"url": f"http://127.0.0.1:{port}/v1/chat"})
        }
        with pytest.raises(HttpError) as caught:
            await posted(run, f"http://127.0.0.1:{port}/v1/chat")
    assert type(caught.value).__name__ == "ConnectError"


async def test_answer_that_breaks_off_breaks_off_for_the_worker() -> None:
    """After all that arrived; it is no complete answer."""
    async with brokered(STREAM + b"5\r\nhello\r\n", None) as run:
        sender = poster(run)
        response = await sender.post(HELLO)
        pieces = response.aiter_bytes()
        assert await anext(pieces) == b"hello"
        run.host._channels[1][1].close()
        with pytest.raises(HttpError):
            await anext(pieces)
        await response.aclose()
        await sender.aclose()


async def test_worker_that_goes_away_ends_the_request() -> None:
    """The provider stops writing for no reader."""
    async with brokered(STREAM + b"5\r\nhello\r\nCUT") as run:
        sender = poster(run)
        response = await sender.post(HELLO)
        assert await anext(aiter(response.aiter_bytes())) == b"hello"
        await response.aclose()
        await run.provider.ended.wait()
        await run.called.wait()
        assert [call.estimated for call in run.calls] == [True]


async def test_slow_reader_slows_the_provider() -> None:
    """The broker does not hold what the worker does not read."""
    piece = b"%x\r\n%b\r\n" % (1 << 20, b"x" * (1 << 20))
    async with brokered(STREAM + piece * 64 + b"0\r\n\r\n") as run:
        sender = poster(run)
        response = await sender.post(HELLO)
        for _ in range(100):
            await anyio.lowlevel.checkpoint()
        (connection,) = run.host._channels[1][1].connections
        assert connection._transport.get_write_buffer_size() < 4 << 20
        size = sum([len(data) async for data in response.aiter_bytes()])
        await response.aclose()
        await sender.aclose()
    assert size == 64 << 20
