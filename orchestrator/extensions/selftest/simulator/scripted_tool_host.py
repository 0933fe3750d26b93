"""A tool host whose server has the tools of the self-test; it may be slow, hang or die."""

from random import Random

import anyio
from pydantic import JsonValue

from orchestrator.extensions.channel_folders.testing.memory_wire import MemoryProcess
from orchestrator.extensions.mcp_client.toolhost import wire
from orchestrator.extensions.selftest.crash import effects
from orchestrator.extensions.selftest.crash.ledger import Ledger
from thinker.protocol.liveness import answer_pings
from thinker.protocol.methods import Ready
from thinker.protocol.peer import Peer

TOOLS = tuple(
    wire.ServerTool(
        name=str(tool["name"]),
        description=str(tool["description"]),
        parameters=tool["inputSchema"],
        digest=str(tool["name"]),
    )
    for tool in effects.TOOLS
)


class ScriptedToolHost:
    """The tool host's side of the wire. A server takes ``start`` seconds until it lists tools."""

    def __init__(self, ledger: Ledger, chance: Random, start: float) -> None:
        self._ledger = ledger
        self._chance = chance
        self._start = start

    async def serve_peer(self, process: MemoryProcess, peer: Peer) -> None:
        self._peer = peer
        peer.requests |= {wire.SERVERS_SET: self._set_servers, wire.TOOLS_CALL: self._call_tool}
        await anyio.sleep(self._chance.uniform(0.01, 0.5))
        await answer_pings(peer, Ready(pid=process.pid, provider="", model=""))

    async def _set_servers(self, params: JsonValue) -> wire.RequestAccepted:
        for server in wire.ServersSet.model_validate(params).servers:
            self._peer.tasks.start_soon(self._connect_server, server.name)
        return wire.RequestAccepted()

    async def _connect_server(self, name: str) -> None:
        self._peer.notify(wire.SERVER_STATE, wire.ServerState(name=name, state="starting"))
        await anyio.sleep(self._start + self._chance.uniform(0.01, 0.5))
        state = wire.ServerState(name=name, state="connected", tools=TOOLS)
        self._peer.notify(wire.SERVER_STATE, state)

    async def _call_tool(self, params: JsonValue) -> wire.ToolAnswer:
        request = wire.ToolRequest.model_validate(params)
        await anyio.sleep(self._chance.uniform(0.01, 1.0))
        wanted = {"name": request.tool, "arguments": request.arguments}
        text = effects.call_effect_tool(wanted, self._ledger)
        await anyio.sleep(self._chance.uniform(0.01, 1.0))
        return wire.ToolAnswer(content=text)
