"""All MCP servers of one host, as the supervisor wants them."""

import os
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup
from pydantic import JsonValue

from orchestrator.toolhost import wire
from orchestrator.toolhost.session import McpSession
from orchestrator.toolhost.wire import (
    RequestAccepted,
    ServersSet,
    ServerState,
    ToolAnswer,
    ToolRequest,
)
from thinker.protocol import methods
from thinker.protocol.methods import Heartbeat, Ready
from thinker.protocol.peer import Peer, RequestHandler, RpcError


@dataclass
class _RunningServer:
    """A server and the task that runs it."""

    server: McpSession
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    ended: anyio.Event = field(default_factory=anyio.Event)


class ToolHost:
    """Serves the supervisor on one wire. ``tasks`` must outlive it."""

    def __init__(self, tasks: TaskGroup) -> None:
        self._tasks = tasks
        self._servers: dict[str, _RunningServer] = {}
        self._peer: Peer | None = None
        self.requests: dict[str, RequestHandler] = {
            wire.SERVERS_SET: self._set_servers,
            wire.TOOLS_CALL: self._call,
        }

    async def serve(self, peer: Peer) -> None:
        """Announce readiness, then beat until the wire ends."""
        self._peer = peer
        peer.notify(methods.READY, Ready(pid=os.getpid(), provider="", model=""))
        while not peer.closed.is_set():
            with anyio.move_on_after(wire.HEARTBEAT):
                await peer.closed.wait()
            peer.notify(methods.HEARTBEAT, Heartbeat(open_turns=0))

    async def _set_servers(self, params: JsonValue) -> RequestAccepted:
        wanted = {spec.name: spec for spec in ServersSet.model_validate(params).servers}
        for name, place in list(self._servers.items()):
            if wanted.get(name) != place.server.spec:
                place.scope.cancel()
                if name not in wanted:
                    del self._servers[name]
        for name, spec in wanted.items():
            old = self._servers.get(name)
            if old is None or old.server.spec != spec:
                place = self._servers[name] = _RunningServer(McpSession(spec, self._report))
                self._tasks.start_soon(self._run, place, old)
        return RequestAccepted()

    async def _run(self, place: _RunningServer, old: _RunningServer | None) -> None:
        """Run a server, after the one whose place it takes has gone."""
        try:
            with place.scope:
                if old is not None:
                    await old.ended.wait()
                await place.server.run()
        finally:
            place.ended.set()

    def _report(self, state: ServerState) -> None:
        if self._peer is not None:
            self._peer.notify(wire.SERVER_STATE, state)

    async def _call(self, params: JsonValue) -> ToolAnswer:
        request = ToolRequest.model_validate(params)
        place = self._servers.get(request.server)
        if place is None:
            raise RpcError(wire.NOT_SENT, f"there is no server {request.server!r} any more")
        return await place.server.call(request)
