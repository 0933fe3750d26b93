"""The extension for the MCP server: agents, chats and traces for MCP clients."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from orchestrator.extension import Command, DaemonView, Extension, Part

if TYPE_CHECKING:
    from orchestrator.agentsfile import ConfigModel


class McpServerExtension(Extension):
    """The daemon as an MCP server, by HTTP and by a command."""

    name = "mcp_server"

    def list_commands(self) -> Mapping[str, Command]:
        return {
            "mcp": Command(
                "More",
                "Serve the running daemon to an MCP client.",
                "orchestrator.extensions.mcp_server.commands.mcp",
            ),
        }

    def get_channels_model(self) -> "type[ConfigModel]":
        from orchestrator.extensions.mcp_server.mcp_settings import McpChannels

        return McpChannels

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.mcp_server.mcp_part import McpServerPart

        return McpServerPart(daemon)
