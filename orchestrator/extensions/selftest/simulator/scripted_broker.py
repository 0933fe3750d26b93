"""A broker that accepts channels and serves none: scripted workers call no model over HTTP."""

import os
import socket

import anyio
from pydantic import JsonValue

from orchestrator.broker import broker_wire
from orchestrator.extensions.channel_folders.testing.memory_wire import MemoryProcess
from thinker.protocol.liveness import answer_pings
from thinker.protocol.methods import Ready
from thinker.protocol.peer import Peer

START = 0.2  # seconds


class ScriptedBroker:
    """The broker's side of the wire; ``descriptors`` is its standard input."""

    def __init__(self, descriptors: int) -> None:
        self._descriptors = socket.socket(fileno=os.dup(descriptors))

    async def serve_peer(self, process: MemoryProcess, peer: Peer) -> None:
        """Announce readiness, then accept everything until the wire ends."""
        peer.requests |= {
            broker_wire.CHANNEL_OPEN: self._open_channel,
            broker_wire.CHANNEL_CLOSE: self._close_channel,
        }
        peer.notifications[broker_wire.CHANNEL_WARM] = lambda _: None
        with self._descriptors:
            await anyio.sleep(START)
            await answer_pings(peer, Ready(pid=process.pid, provider="", model=""))

    async def _open_channel(self, params: JsonValue) -> broker_wire.ChannelAccepted:
        del params
        _, received, _, _ = socket.recv_fds(self._descriptors, 32, 1)
        for fd in received:
            os.close(fd)
        return broker_wire.ChannelAccepted()

    async def _close_channel(self, params: JsonValue) -> broker_wire.ChannelAccepted:
        del params
        return broker_wire.ChannelAccepted()
