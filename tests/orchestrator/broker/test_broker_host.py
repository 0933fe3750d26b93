"""The broker's channels."""

import os
import socket
from contextlib import aclosing

from fakes.brokered import brokered

from orchestrator.broker import broker_wire
from orchestrator.broker.broker_wire import ChannelAccepted, ChannelClose
from thinker.http.client import open_poster


async def test_channel_of_a_removed_agent_ends_with_its_requests() -> None:
    """Its worker gets no answer any more."""
    async with brokered(None) as run:
        poster = open_poster(run.provider.url, {}, connect=5.0, read=5.0, transport=run.link)
        connection = await run.link.open()
        over = ChannelClose(channel=1)
        await run.supervisor.call(broker_wire.CHANNEL_CLOSE, over, ChannelAccepted, timeout=5.0)
        assert run.host._channels == {}
        connection.end()
        await poster.aclose()


async def test_connections_that_came_before_the_broker_are_served() -> None:
    """A worker does not know whether a broker runs."""
    async with brokered() as run:
        poster = open_poster(run.provider.url, {}, connect=5.0, read=5.0, transport=run.link)
        async with aclosing(await poster.post(b"{}")) as response:
            assert response.status_code == 200
        await poster.aclose()


async def test_descriptor_that_is_no_socket_is_closed() -> None:
    """A worker that sends many would otherwise leave the broker none for others."""
    async with brokered() as run:
        poster = open_poster(run.provider.url, {}, connect=5.0, read=5.0, transport=run.link)
        reader, writer = os.pipe()
        socket.send_fds(run.link.channel, [b"."], [writer])
        os.close(writer)
        async with aclosing(await poster.post(b"{}")) as response:  # it comes after the descriptor
            assert response.status_code == 200
        assert os.read(reader, 1) == b""  # no one else can write
        os.close(reader)
        await poster.aclose()
