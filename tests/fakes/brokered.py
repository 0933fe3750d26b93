"""A broker in the test's own process, with a provider behind it and a worker's link before it."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import anyio
from fakes.time_limit import time_limit

from orchestrator.broker import broker_wire
from orchestrator.broker.broker_host import BrokerHost
from orchestrator.broker.broker_wire import CallEnded, ChannelAccepted, ChannelOpen, Grant
from thinker.http.broker_link import REQUEST, BrokerLink
from thinker.protocol.peer import Peer, connect_peer

KEY = "sk-the-key-4711"
OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\nok"
Answer = Callable[[bytes, asyncio.StreamWriter], None]


@dataclass
class Provider:
    """A web server that keeps what it is sent and writes ``answers``, the last one for ever.

    An answer of None is held back until ``go`` is set; then the connection ends.
    """

    answers: Sequence[bytes | None] = (OK,)
    url: str = ""
    heads: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    asked: anyio.Event = field(default_factory=anyio.Event)
    ended: anyio.Event = field(default_factory=anyio.Event)
    go: anyio.Event = field(default_factory=anyio.Event)
    connections: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""
        self.connections += 1
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = head.partition("content-length: ")[2].partition("\r\n")[0]
                self.bodies.append(await reader.readexactly(int(length or 0)))
                self.heads.append(head)
                self.asked.set()
                answer = self.answers[min(len(self.heads), len(self.answers)) - 1]
                if answer is None:
                    await self.go.wait()
                    break
                writer.write(answer)
                if answer.endswith(b"CUT"):
                    await writer.drain()
                    await reader.read()  # the other side ends first
                    break
        writer.close()
        self.ended.set()


@dataclass
class Brokered:
    """A worker's link to a broker, and what the supervisor hears."""

    link: BrokerLink
    provider: Provider
    supervisor: Peer
    host: BrokerHost
    calls: list[CallEnded]
    called: anyio.Event

    async def talk(self, sent: bytes) -> bytes:
        """Send raw bytes over a connection of the worker's; return all that comes back."""
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self.link.channel, [b"."], [theirs.fileno()])
        reader, writer = await asyncio.open_connection(sock=ours)
        writer.write(sent)
        writer.write_eof()
        answer = await reader.read()
        writer.close()
        return answer


def request(url: str, body: bytes = b"{}", length: int | None = None) -> bytes:
    """A raw request, which may lie about the length of its body."""
    address = url.encode("latin-1")
    return REQUEST.pack(len(address), len(body) if length is None else length, 1) + address + body


def grant(address: str, **fields: object) -> Grant:
    """A grant with the key."""
    values = {"headers": {"authorization": f"Bearer {KEY}"}, "secrets": (KEY,), **fields}
    return Grant.model_validate({"url": address, "provider": "openai", **values})


@asynccontextmanager
async def brokered(*answers: bytes | None, **fields: object) -> AsyncIterator[Brokered]:
    """Run a provider that answers so, a broker, and one channel that may post to ``/v1/chat``."""
    provider, calls, called = Provider(answers or (OK,)), [], anyio.Event()

    def on_call(params: object) -> None:
        calls.append(CallEnded.model_validate(params))
        called.set()

    async with (
        await asyncio.start_server(provider.serve, "127.0.0.1", 0) as server,
        anyio.create_task_group() as tasks,
    ):
        port = server.sockets[0].getsockname()[1]
        provider.url = f"http://127.0.0.1:{port}/v1/chat"
        sending, receiving = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours, theirs = socket.socketpair()
        host = BrokerHost(receiving)
        with time_limit(), sending, receiving:
            async with (
                connect_peer(theirs, host.requests, host.notifications) as peer,
                connect_peer(ours, None, {broker_wire.CALL_ENDED: on_call}) as supervisor,
            ):
                supervisor.notifications["ready"] = lambda _: None
                tasks.start_soon(host.serve_supervisor, peer)
                brokers, workers = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                with brokers, workers:
                    grants = (grant(provider.url, **fields),)
                    opened = ChannelOpen(channel=1, agent_id="work", grants=grants)
                    socket.send_fds(sending, [b"1"], [brokers.fileno()])
                    await supervisor.call(
                        broker_wire.CHANNEL_OPEN, opened, ChannelAccepted, timeout=5.0
                    )
                    link = BrokerLink(workers)
                    yield Brokered(link, provider, supervisor, host, calls, called)
                    over = broker_wire.ChannelClose(channel=1)
                    await supervisor.call(
                        broker_wire.CHANNEL_CLOSE, over, ChannelAccepted, timeout=5.0
                    )
        provider.go.set()
        tasks.cancel_scope.cancel()
