"""The tools that MCP servers listed last, known without a daemon."""

from collections.abc import Collection

from pydantic import ValidationError

from orchestrator.agentsfile import AgentsFile
from orchestrator.extensions.mcp_client import tool_lists
from orchestrator.extensions.mcp_client.mcp_tools import build_catalog, build_own_tools
from orchestrator.home_paths import Paths
from orchestrator.journal.access import tool_pins
from orchestrator.journal.db.database import Database
from orchestrator.tools.remote_tools import RemoteTool
from orchestrator.tools.tool_server import collect_tool_servers


def find_remembered_tools(
    db: Database,
    agents: AgentsFile,
    paths: Paths,
    agent_id: str,
    reserved: Collection[str],
    now: int,
) -> dict[str, RemoteTool]:
    """Return an agent's tools of MCP servers; see `Extension.find_remembered_tools`."""
    agent_servers = collect_tool_servers(agents, paths)
    pinned = {name for name, server in agents.mcp_servers.items() if server.pin}
    pinned |= {name for name, own in agent_servers.items() if own.server.pin}
    complete, listed = {}, {}
    for server, stored in tool_lists.load_tool_lists(db).items():
        try:
            tools = tool_lists.TOOLS.validate_json(stored)
        except ValidationError:  # of another version
            continue
        complete[server] = tools
        if server in pinned:
            digests = {tool.name: tool.digest for tool in reversed(tools)}
            trusted, _ = tool_pins.compare_with_pins(db, server, digests, now)
            tools = tuple(tool for tool in tools if tool.digest in trusted)
        listed[server] = tools
    shared, _ = build_catalog(listed, agents.mcp_servers, reserved, complete)
    return shared | build_own_tools(listed, agent_servers).get(agent_id, {})
