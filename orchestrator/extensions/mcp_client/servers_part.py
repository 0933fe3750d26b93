"""MCP servers in a daemon."""

from functools import partial

from orchestrator.extension import DaemonView, Part
from orchestrator.extensions.mcp_client.pins import ToolPins
from orchestrator.extensions.mcp_client.servers import McpServers
from orchestrator.processes import restarts


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

    async def run(self) -> None:
        if self._servers is not None:
            await self._servers.run()
