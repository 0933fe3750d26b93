"""Serve the channels of all workers, as the supervisor opens and closes them."""

import asyncio
import math
import os
import socket
from contextlib import closing, suppress
from functools import partial

import structlog
from pydantic import JsonValue

from orchestrator.broker import broker_wire
from orchestrator.broker.broker_wire import (
    ChannelAccepted,
    ChannelClose,
    ChannelOpen,
    ChannelWarm,
)
from orchestrator.broker.shared_socket import SharedSocket
from orchestrator.broker.worker_connection import ChannelRights, WorkerConnection
from thinker.http.web_client import WebClient
from thinker.jail.worker_jail import NO_JAIL
from thinker.protocol.liveness import answer_pings
from thinker.protocol.messages import JsonObject
from thinker.protocol.methods import Ready
from thinker.protocol.peer import FAILED, Peer, RequestHandler, RpcError
from thinker.protocol.sandbox import SandboxReport

CONNECT_SECONDS = 10.0  # seconds; a worker may give up earlier
READ_SECONDS = math.inf  # a worker has a shorter limit of its own
MAX_ACCEPTED = 16  # connections taken from one channel in a row
MAX_CONNECTIONS = 64  # of one channel; a worker needs one for each model call under way
log = structlog.get_logger()


class BrokerHost:
    """Serves the supervisor. Channels arrive on ``descriptors``; ``sandbox`` describes the jail."""

    def __init__(self, descriptors: socket.socket, sandbox: SandboxReport = NO_JAIL.report) -> None:
        self._descriptors = descriptors
        self._sandbox = sandbox
        self._client = WebClient(connect=CONNECT_SECONDS, read=READ_SECONDS)
        self._channels: dict[int, tuple[socket.socket, ChannelRights]] = {}
        self._starting: set[asyncio.Task[object]] = set()
        self._peer: Peer | None = None
        self.requests: dict[str, RequestHandler] = {
            broker_wire.CHANNEL_OPEN: self._open_channel,
            broker_wire.CHANNEL_CLOSE: self._close_channel,
        }
        self.notifications = {broker_wire.CHANNEL_WARM: self._warm_channel}

    async def serve_supervisor(self, peer: Peer) -> None:
        """Announce readiness, then answer pings until the supervisor's socket closes."""
        self._peer = peer
        ready = Ready(pid=os.getpid(), provider="", model="", sandbox=self._sandbox)
        with closing(self._client):
            await answer_pings(peer, ready)

    async def _open_channel(self, params: JsonValue) -> ChannelAccepted:
        # Before anything else: descriptors are sent in the order of these requests.
        message, received, _, _ = socket.recv_fds(self._descriptors, 32, 1)
        opened = ChannelOpen.model_validate(params)
        if not received or int(message) != opened.channel:
            raise RpcError(FAILED, "the descriptor of the channel did not arrive")
        for grant in opened.grants:
            if grant.connect is not None:
                self._client.set_connect_seconds(grant.url, grant.connect)
        rights = ChannelRights(
            channel=opened.channel,
            agent_id=opened.agent_id,
            grants={grant.url.encode(): grant for grant in opened.grants},
            client=self._client,
            report=self._report_call,
        )
        channel = socket.socket(fileno=received[0])
        channel.setblocking(False)  # noqa: FBT003 - the standard library takes it by position
        self._channels[opened.channel] = channel, rights
        asyncio.get_running_loop().add_reader(channel, self._accept_connections, channel, rights)
        rights.warm_connection()  # do not delay a worker that starts for a message
        return ChannelAccepted()

    async def _close_channel(self, params: JsonValue) -> ChannelAccepted:
        self._end_channel(ChannelClose.model_validate(params).channel)
        return ChannelAccepted()

    def _warm_channel(self, params: JsonValue) -> None:
        found = self._channels.get(ChannelWarm.model_validate(params).channel)
        if found is not None:
            found[1].warm_connection()

    def _accept_connections(self, channel: socket.socket, rights: ChannelRights) -> None:
        """Accept a worker's connections; close the channel when the worker has ended."""
        with suppress(BlockingIOError):
            for _ in range(MAX_ACCEPTED):  # give other workers a turn
                try:
                    message, received, _, _ = socket.recv_fds(channel, 16, 1)
                except ConnectionError:
                    message, received = b"", []
                for fd in received:
                    self._start_connection(fd, rights)
                if not message:
                    self._end_channel(rights.channel)
                    return

    def _start_connection(self, fd: int, rights: ChannelRights) -> None:
        try:
            sock = SharedSocket(fileno=fd)
        except OSError:
            rights.warn_once("no socket")
            os.close(fd)
            return
        plain = (sock.family, sock.type) == (socket.AF_UNIX, socket.SOCK_STREAM)
        if not plain or len(rights.connections) >= MAX_CONNECTIONS:
            rights.warn_once("a connection beyond the limit, or no connection")
            sock.close()
            return
        sock.setblocking(False)  # noqa: FBT003 - the standard library takes it by position
        loop = asyncio.get_running_loop()
        connecting = loop.create_connection(partial(WorkerConnection, rights), sock=sock)
        task = loop.create_task(connecting)
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    def _end_channel(self, number: int) -> None:
        found = self._channels.pop(number, None)
        if found is not None:
            channel, rights = found
            asyncio.get_running_loop().remove_reader(channel)
            channel.close()
            rights.close()

    def _report_call(self, ended: JsonObject) -> None:
        if self._peer is not None:
            self._peer.notify(broker_wire.CALL_ENDED, ended)
