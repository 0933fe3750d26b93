"""The worker's side of the broker, against a scripted broker."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import anyio
import pytest
from fakes.time_limit import time_limit

from thinker.http import connections
from thinker.http.broker_link import END, FAILURE, PIECE, REQUEST, BrokerLink, pack_frame, pack_head
from thinker.http.exchange import BrokenAnswerError, ConnectError, HttpAnswer

URL = "http://provider.test/v1"
OK = (
    pack_head(200, {"retry-after": "1"})
    + pack_frame(PIECE, b"o")
    + pack_frame(PIECE, b"k")
    + pack_frame(END)
)


class Broker:
    """Takes connections from a channel; ``answer`` writes to each request."""

    def __init__(self, answer: Callable[[asyncio.StreamWriter], None]) -> None:
        self._answer = answer
        self.writers: list[asyncio.StreamWriter] = []
        self.asked: list[tuple[bytes, bytes, int]] = []
        self.ended = 0

    async def serve(self, channel: socket.socket) -> None:
        """Take connections until canceled."""
        async with anyio.create_task_group() as tasks:
            while True:
                await anyio.wait_readable(channel)
                _, (fd,), _, _ = socket.recv_fds(channel, 1, 1)
                tasks.start_soon(self._connection, socket.socket(fileno=fd))

    async def _connection(self, sock: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=sock)
        self.writers.append(writer)
        with suppress(ConnectionError):
            while begun := await reader.read(REQUEST.size):
                address, length, number = REQUEST.unpack(begun)
                sent = await reader.readexactly(address), await reader.readexactly(length), number
                self.asked.append(sent)
                self._answer(writer)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        self.ended += 1


@asynccontextmanager
async def linked(broker: Broker) -> AsyncIterator[BrokerLink]:
    """A link to a broker that runs, bounded."""
    brokers, workers = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    async with anyio.create_task_group() as tasks:
        with time_limit(), brokers, workers:
            tasks.start_soon(broker.serve, brokers)
            yield (link := BrokerLink(workers))
            link.close()
            while broker.ended < len(broker.writers):
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()


def answering(data: bytes) -> Broker:
    """A broker with one answer."""
    return Broker(lambda writer: writer.write(data))


async def asked(link: BrokerLink) -> HttpAnswer:
    """Make a request."""
    return await link.send("POST", URL, {"authorization": "own"}, b"{}")


async def test_calls_share_a_connection_and_have_names_of_their_own() -> None:
    """Only address and body leave the worker."""
    broker = answering(OK)
    async with linked(broker) as link:
        for name in ("1", "2"):
            answer = await asked(link)
            assert (answer.status, answer.call_id) == (200, name)
            assert answer.headers == {"retry-after": "1"}
            assert await answer.read(2) == b"ok"
            assert answer.is_complete
        answer.close()
        assert len(broker.writers) == 1
        calls = [await asked(link), await asked(link)]
        assert [await call.read(2) for call in calls] == [b"ok", b"ok"]
    assert len(broker.writers) == 2
    assert broker.asked[1] == (URL.encode(), b"{}", 2)


@pytest.mark.parametrize("cut", range(1, len(OK)))
async def test_answer_may_come_in_parts(cut: int) -> None:
    """Cut anywhere, also inside a number."""
    broker = answering(OK[:cut])
    async with linked(broker) as link, anyio.create_task_group() as tasks:

        async def rest() -> None:
            while not broker.asked:
                await anyio.lowlevel.checkpoint()
            await anyio.wait_all_tasks_blocked()
            broker.writers[0].write(OK[cut:])

        tasks.start_soon(rest)
        answer = await asked(link)
        assert await answer.read(2) == b"ok"


async def test_failure_of_the_broker_is_raised_by_its_name() -> None:
    """The connection goes on."""
    names = iter((b"ConnectError", b"BrokenAnswerError", b"SomethingElse"))
    broker = Broker(lambda writer: writer.write(pack_frame(FAILURE, next(names))))
    async with linked(broker) as link:
        for kind in (ConnectError, BrokenAnswerError, BrokenAnswerError):
            with pytest.raises(kind):
                await asked(link)
    assert len(broker.writers) == 1


@pytest.mark.parametrize("cut", [0, 3, len(OK) - 1])
async def test_broker_that_dies_breaks_the_answer(cut: int) -> None:
    """The next request has another connection."""

    def die(writer: asyncio.StreamWriter) -> None:
        writer.write(OK[:cut] if len(broker.asked) == 1 else OK)
        if len(broker.asked) == 1:
            writer.close()

    broker = Broker(die)
    async with linked(broker) as link:
        with pytest.raises(BrokenAnswerError):
            await (await asked(link)).read(2)
        assert await (await asked(link)).read(2) == b"ok"
        broker.writers[1].close()
        await anyio.wait_all_tasks_blocked()
        assert await (await asked(link)).read(2) == b"ok"
    assert len(broker.writers) == 3


async def test_answer_that_is_not_read_to_its_end_ends_its_connection() -> None:
    """Its rest would be taken for the next answer."""
    broker = answering(OK)
    async with linked(broker) as link:
        (await asked(link)).close()
        assert await (await asked(link)).read(2) == b"ok"
    assert (len(broker.writers), broker.ended) == (2, 2)


async def test_worker_that_reads_nothing_is_sent_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its memory does not fill."""
    monkeypatch.setattr(connections, "MAX_UNREAD_BYTES", 1000)
    broker = answering(pack_head(200, {}) + pack_frame(PIECE, b"x" * 1000) * 5000 + pack_frame(END))
    async with linked(broker) as link:
        answer = await asked(link)
        await anyio.wait_all_tasks_blocked()
        assert broker.writers[0].transport.get_write_buffer_size() > 0
        assert len(await answer.read(5_000_000)) == 5_000_000


async def test_channel_that_is_gone_is_known_before_anything_is_sent() -> None:
    """Repeating is safe."""
    brokers, workers = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    brokers.close()
    with workers, pytest.raises(ConnectError):
        await asked(BrokerLink(workers))
