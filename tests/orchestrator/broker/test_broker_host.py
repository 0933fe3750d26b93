"""The broker's channels."""

import os
import socket

import anyio
import pytest
from fakes.brokered import Brokered, brokered
from structlog.testing import capture_logs

from orchestrator.broker import broker_wire
from orchestrator.broker.broker_wire import ChannelAccepted, ChannelClose, ChannelWarm
from thinker.http.exchange import BrokenAnswerError


async def test_channel_of_a_removed_agent_ends_with_its_requests() -> None:
    """Its worker gets no answer any more."""
    async with brokered(None) as run:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fails, run)
            await run.provider.asked.wait()
            over = ChannelClose(channel=1)
            await run.supervisor.call(broker_wire.CHANNEL_CLOSE, over, ChannelAccepted, timeout=5.0)
        assert run.host._channels == {}


async def fails(run: Brokered) -> None:
    """Ask, and get no answer."""
    with pytest.raises(BrokenAnswerError):
        await run.link.send("POST", run.provider.url, body=b"{}")


async def test_worker_that_will_ask_finds_a_connection() -> None:
    """Opened with its channel, or when it is said; one is enough, and none leads to no log."""
    async with brokered() as run:
        while run.provider.connections == 0:
            await anyio.lowlevel.checkpoint()
        for _ in range(5):
            run.supervisor.notify(broker_wire.CHANNEL_WARM, ChannelWarm(channel=1))
        run.supervisor.notify(broker_wire.CHANNEL_WARM, ChannelWarm(channel=7))
        answer = await run.link.send("POST", run.provider.url, body=b"{}")
        assert await answer.read(10) == b"ok"
        assert run.provider.connections == 1


async def test_server_that_cannot_be_reached_is_no_news_before_it_is_asked() -> None:
    """The request that follows says it."""
    with capture_logs() as logged:
        async with brokered(url="http://127.0.0.1:1/v1") as run:
            run.supervisor.notify(broker_wire.CHANNEL_WARM, ChannelWarm(channel=1))
            while not logged:
                await anyio.lowlevel.checkpoint()
    assert {(entry["event"], entry["log_level"]) for entry in logged} == {
        ("warm_up_failed", "debug")
    }


async def test_connections_that_came_before_the_broker_are_served() -> None:
    """A worker does not know whether a broker runs."""
    async with brokered() as run:
        answer = await run.link.send("POST", run.provider.url, body=b"{}")
        assert await answer.read(10) == b"ok"


async def test_descriptor_that_is_no_socket_is_closed() -> None:
    """A worker that sends many would otherwise leave the broker none for others."""
    async with brokered() as run:
        reader, writer = os.pipe()
        socket.send_fds(run.link.channel, [b"."], [writer])
        os.close(writer)
        answer = await run.link.send("POST", run.provider.url, body=b"{}")  # after the descriptor
        assert await answer.read(10) == b"ok"
        assert os.read(reader, 1) == b""  # no one else can write
        os.close(reader)
