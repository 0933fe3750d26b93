"""What a worker can and cannot do through the broker."""

import asyncio
import socket
from contextlib import closing

import anyio
import pytest
from fakes.brokered import KEY, OK, Brokered, brokered, request
from structlog.testing import capture_logs

from orchestrator.broker import worker_connection
from orchestrator.testing.loopback import find_free_port
from thinker.http.broker_link import REQUEST
from thinker.http.exchange import BrokenAnswerError, ConnectError

STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
HELLO = b'{"say": "hello"}'
OWN = {"authorization": "Bearer its-own", "x-own": "its-own"}
MIB = 1 << 20


async def posted(run: Brokered, url: str = "") -> tuple[int, dict[str, str], bytes]:
    """Post and read the whole answer."""
    answer = await run.link.send("POST", url or run.provider.url, OWN, HELLO)
    return answer.status, dict(answer.headers), await answer.read(MIB)


async def test_request_gets_the_key_and_loses_what_the_worker_may_not_say() -> None:
    """Only its body passes."""
    async with brokered() as run:
        assert (await posted(run))[::2] == (200, b"ok")
        (head,) = run.provider.heads
        assert run.provider.bodies == [HELLO]
    assert head.startswith("post /v1/chat http/1.1\r\n")
    assert f"authorization: bearer {KEY}\r\n" in head
    assert "its-own" not in head


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"--" + b"a1" * 24 + b"\r\nx", "multipart/form-data; boundary=" + "a1" * 24),
        (b"--a\r\nx-own: its-own", "application/json"),
        (b"{}", "application/json"),
    ],
)
async def test_form_is_sent_as_one(body: bytes, kind: str) -> None:
    """Its first line has the mark between its parts; the worker writes no header with it."""
    async with brokered(form=True) as run:
        answer = await run.link.send("POST", run.provider.url, OWN, body)
        await answer.read(MIB)
        (head,) = run.provider.heads
        assert run.provider.bodies == [body]
    assert f"content-type: {kind}\r\n" in head


async def test_answer_keeps_only_headers_that_a_worker_needs() -> None:
    """No cookie; the time to wait and the request's id."""
    extra = b"set-cookie: a=b\r\nretry-after: 3\r\nx-request-id: r1\r\n"
    async with brokered(OK.replace(b"content-length", extra + b"content-length")) as run:
        _, headers, body = await posted(run)
    assert headers == {
        "content-type": "application/json",
        "retry-after": "3",
        "x-request-id": "r1",
    }
    assert body == b"ok"


async def test_connections_to_the_provider_are_shared() -> None:
    """A second worker's connection needs no new one."""
    async with brokered() as run:
        for _ in range(3):
            await posted(run)
        assert run.provider.connections == 1


@pytest.mark.parametrize(
    "target",
    [
        "{url}/../admin",
        "{url}/",
        "{url}?a=b",
        "/v1/chat",
        "http://127.0.0.1:1/v1/chat",
        "{url}%2e",
        "http://x@{host}/v1/chat",
        "https://{host}/v1/chat",
        "{url}\r\nx: y",
        "\xff",
        "",
    ],
)
async def test_any_other_address_is_refused(target: str) -> None:
    """Also one that only looks like the agent's."""
    async with brokered() as run:
        host = run.provider.url.split("/")[2]
        text = target.format(url=run.provider.url, host=host)
        answer = await run.talk(request(text))
        assert run.provider.heads == []
    assert b"[403," in answer
    assert b"the broker refused the request" in answer


async def test_second_request_behind_the_first_is_not_made() -> None:
    """A worker waits for its answer; what it sends meanwhile ends the connection."""
    async with brokered() as run:
        one = request(run.provider.url)
        assert await run.talk(one + request(run.provider.url, b'"smuggled"')) == b""
        assert await run.talk(request(run.provider.url, length=1)) == b""
        assert run.provider.heads == []


async def test_bodies_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker cannot fill the broker's memory; what it announces counts."""
    monkeypatch.setattr(worker_connection, "MAX_BODY", 1000)
    async with brokered() as run:
        assert b"[413," in await run.talk(REQUEST.pack(1, 2**32 - 1, 1))
        assert b"[413," in await run.talk(request(run.provider.url, length=1001))
        assert run.provider.heads == []


async def test_requests_of_one_worker_at_once_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was announced counts until the connection ends."""
    monkeypatch.setattr(worker_connection, "MAX_CHANNEL", 1500)
    async with brokered() as run:
        rights = run.host._channels[1][1]
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(run.link.channel, [b"."], [theirs.fileno()])
        ours.sendall(request(run.provider.url, length=1000))
        while rights.buffered < 1000:
            await anyio.lowlevel.checkpoint()
        assert b"[413," in await run.talk(request(run.provider.url, length=600))
        ours.close()
        while rights.buffered:
            await anyio.lowlevel.checkpoint()
        assert (await posted(run))[0] == 200
        assert rights.buffered == 0


@pytest.mark.parametrize("cut", [1, REQUEST.size - 1, REQUEST.size, REQUEST.size + 3, -1])
async def test_request_that_is_not_finished_in_time_is_ended(
    cut: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A half-sent request holds nothing for ever."""
    monkeypatch.setattr(worker_connection, "REQUEST_SECONDS", 0.05)
    async with brokered() as run:
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(run.link.channel, [b"."], [theirs.fileno()])
        reader, writer = await asyncio.open_connection(sock=ours)
        writer.write(request(run.provider.url)[:cut])
        assert await reader.read() == b""
        writer.close()


async def test_request_may_come_in_many_parts() -> None:
    """As large ones do."""
    async with brokered() as run:
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(run.link.channel, [b"."], [theirs.fileno()])
        reader, writer = await asyncio.open_connection(sock=ours)
        for byte in request(run.provider.url, HELLO):
            writer.write(bytes([byte]))
            await anyio.lowlevel.checkpoint()
        assert b"[200," in await reader.readuntil(b"}]")
        assert run.provider.bodies == [HELLO]
        writer.close()


async def test_answer_that_a_worker_never_reads_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would hold a connection to the provider for ever."""
    monkeypatch.setattr(worker_connection, "ANSWER_SECONDS", 0.05)
    piece = b"%x\r\n%b\r\n" % (1 << 20, b"x" * (1 << 20))
    async with brokered(STREAM + piece * 16 + b"CUT") as run:
        answer = await run.link.send("POST", run.provider.url, OWN, HELLO)
        await run.provider.ended.wait()
        answer.close()


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
        port = find_free_port()
        run.host._channels[1][1].grants = {
            f"http://127.0.0.1:{port}/v1/chat".encode(): next(
                iter(run.host._channels[1][1].grants.values())
            ).model_copy(update={"url": f"http://127.0.0.1:{port}/v1/chat"})
        }
        with pytest.raises(ConnectError):
            await posted(run, f"http://127.0.0.1:{port}/v1/chat")


async def test_answer_that_breaks_off_breaks_off_for_the_worker() -> None:
    """After all that arrived; it is no complete answer."""
    async with brokered(STREAM + b"5\r\nhello\r\n", None) as run:
        with closing(await run.link.send("POST", run.provider.url, OWN, HELLO)) as answer:
            pieces = answer.iter_pieces()
            assert await anext(pieces) == b"hello"
            run.host._channels[1][1].close()
            with pytest.raises(BrokenAnswerError):
                await anext(pieces)


async def test_worker_that_goes_away_ends_the_request() -> None:
    """The provider stops writing for no reader."""
    async with brokered(STREAM + b"5\r\nhello\r\nCUT") as run:
        with closing(await run.link.send("POST", run.provider.url, OWN, HELLO)) as answer:
            assert await anext(answer.iter_pieces()) == b"hello"
        await run.provider.ended.wait()
        await run.called.wait()
        assert [call.estimated for call in run.calls] == [True]


async def test_slow_reader_slows_the_provider() -> None:
    """The broker does not hold what the worker does not read."""
    piece = b"%x\r\n%b\r\n" % (MIB, b"x" * MIB)
    async with brokered(STREAM + piece * 64 + b"0\r\n\r\n") as run:
        answer = await run.link.send("POST", run.provider.url, OWN, HELLO)
        for _ in range(100):
            await anyio.lowlevel.checkpoint()
        (connection,) = run.host._channels[1][1].connections
        assert connection._transport.get_write_buffer_size() < 4 * MIB
        assert len(await answer.read(64 * MIB)) == 64 * MIB


async def test_a_question_about_a_model_is_a_get_with_the_key_and_counts_nothing() -> None:
    """The grant has the method; the worker cannot change it."""
    async with brokered(method="GET", probe=True) as run:
        answer = await run.link.send("POST", run.provider.url, OWN, b"")
        assert await answer.read(MIB) == b"ok"
        (head,) = run.provider.heads
        assert not run.calls
    assert head.startswith("get /v1/chat http/1.1\r\n")
    assert f"authorization: bearer {KEY}\r\n" in head
