"""Hold the sessions with all MCP servers, as the supervisor configures them."""

import os
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup
from pydantic import JsonValue

from orchestrator.extensions.mcp_client.toolhost import wire
from orchestrator.extensions.mcp_client.toolhost.server_jails import UNJAILED, ServerJails
from orchestrator.extensions.mcp_client.toolhost.session import McpSession
from thinker.protocol.liveness import answer_pings
from thinker.protocol.methods import Ready
from thinker.protocol.peer import Peer, RequestHandler, RpcError
from thinker.protocol.sandbox import SandboxReport

BY_HAND = SandboxReport("off", "it was started by hand")


@dataclass
class _RunningServer:
    session: McpSession
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    ended: anyio.Event = field(default_factory=anyio.Event)


class ToolHost:
    """Serves the supervisor on one socket. ``tasks`` must outlive it.

    ``sandbox`` is this process's own jail, ``jails`` are those of its servers.
    """

    def __init__(
        self,
        tasks: TaskGroup,
        sandbox: SandboxReport = BY_HAND,
        jails: ServerJails = UNJAILED,
    ) -> None:
        self._tasks = tasks
        self._sandbox = sandbox
        self._jails = jails
        self._servers: dict[str, _RunningServer] = {}
        self._calls: dict[str, anyio.CancelScope] = {}
        self._peer: Peer | None = None
        self.requests: dict[str, RequestHandler] = {
            wire.SERVERS_SET: self._set_servers,
            wire.TOOLS_CALL: self._call_tool,
        }

    async def serve_peer(self, peer: Peer) -> None:
        """Announce readiness, then answer pings until the socket closes."""
        self._peer = peer
        peer.notifications |= {wire.CALL_CANCEL: self._cancel_call}
        ready = Ready(pid=os.getpid(), provider="", model="", sandbox=self._sandbox)
        await answer_pings(peer, ready)

    async def _set_servers(self, params: JsonValue) -> wire.RequestAccepted:
        specs = {spec.name: spec for spec in wire.ServersSet.model_validate(params).servers}
        for name, server in list(self._servers.items()):
            if specs.get(name) != server.session.spec:
                server.scope.cancel()
                if name not in specs:
                    del self._servers[name]
        for name, spec in specs.items():
            old = self._servers.get(name)
            if old is None or old.session.spec != spec:
                session = McpSession(spec, self._report_state, jails=self._jails)
                server = self._servers[name] = _RunningServer(session)
                self._tasks.start_soon(self._run_server, server, old)
        return wire.RequestAccepted()

    async def _run_server(self, server: _RunningServer, old: _RunningServer | None) -> None:
        """Run a server, once the one that it replaces has ended."""
        try:
            with server.scope:
                if old is not None:
                    await old.ended.wait()
                await server.session.run()
        finally:
            server.ended.set()

    def _report_state(self, state: wire.ServerState) -> None:
        if self._peer is not None:
            self._peer.notify(wire.SERVER_STATE, state)

    async def _call_tool(self, params: JsonValue) -> wire.ToolAnswer:
        request = wire.ToolRequest.model_validate(params)
        server = self._servers.get(request.server)
        if server is None:
            raise RpcError(wire.NOT_SENT, f"there is no server {request.server!r} any more")
        with anyio.CancelScope() as scope:
            self._calls[request.key] = scope
            try:
                return await server.session.call_mcp_tool(request)
            finally:
                del self._calls[request.key]
        raise RpcError(wire.LOST, "the call was cancelled")

    def _cancel_call(self, params: JsonValue) -> None:
        """Abandon a call; the library notifies its server."""
        scope = self._calls.get(wire.CallCancel.model_validate(params).key)
        if scope is not None:
            scope.cancel()
