"""MCP servers in a daemon."""

from collections.abc import Mapping
from functools import partial

from orchestrator.extension import DaemonView, Part
from orchestrator.extensions.mcp_client.pins import ToolPins
from orchestrator.extensions.mcp_client.servers import McpServers
from orchestrator.extensions.mcp_client.tool_changes import TOOL_PINS, load_changes
from orchestrator.processes import restarts
from thinker.protocol.peer import Peer, RequestHandler


class ServersPart(Part):
    """Gives the daemon its remote tools."""

    def __init__(self, daemon: DaemonView) -> None:
        super().__init__(daemon)
        self._servers: McpServers | None = None

    def build_remote_tools(self) -> McpServers:
        view, machine = self.daemon, self.daemon.machine
        jitter = partial(restarts.draw_jitter, machine.draw_fraction)
        pins = ToolPins(view.store, view.get_agents_file, machine.clock, view.delivery.wake)
        self._servers = McpServers(
            view.settings, view.environ, pins, machine.monotonic, jitter, machine.spawn_tool_host
        )
        return self._servers

    def list_control_methods(self, peer: Peer | None) -> Mapping[str, RequestHandler]:
        del peer
        return {TOOL_PINS: lambda _: self.daemon.store.read(load_changes)}

    async def run(self) -> None:
        if self._servers is not None:
            await self._servers.run()
