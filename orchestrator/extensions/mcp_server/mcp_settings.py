"""Settings of the daemon as an MCP server."""

from typing import Literal

from orchestrator.agentsfile.channel_settings import LocalChannel
from orchestrator.agentsfile.field_types import ConfigModel


class McpSettings(LocalChannel):
    """Access for MCP clients: `orchestrator mcp`, and `/mcp` next to the endpoints."""

    http_role: Literal["chat", "operator"] = "chat"
    """What `/mcp` allows: talk to agents ("chat"), or all chats, approvals and traces too."""


class McpChannels(ConfigModel):
    """The MCP server's entries in `channels`."""

    mcp: McpSettings = McpSettings()
    """The daemon as an MCP server."""
