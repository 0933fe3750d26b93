"""The latest tool lists of MCP servers, offered after a restart until the servers answer."""

from pydantic import TypeAdapter

from orchestrator.extensions.mcp_client.toolhost.wire import ServerTool
from orchestrator.journal.db.database import Database
from thinker.protocol.messages import LATE

TOOLS = TypeAdapter(tuple[ServerTool, ...], config=LATE)  # the JSON of a list


def store_tool_list(db: Database, server: str, tools: str, now: int) -> None:
    """Store a server's list, as JSON, replacing the last one."""
    db.execute(
        "INSERT INTO tool_list(server, tools, at) VALUES(?,?,?) ON CONFLICT(server)"
        " DO UPDATE SET tools = excluded.tools, at = excluded.at"
        " WHERE tool_list.tools <> excluded.tools",
        (server, tools, now),
    )


def load_tool_lists(db: Database) -> dict[str, str]:
    """Return the latest list of every server ever connected, as JSON."""
    rows = db.execute("SELECT server, tools FROM tool_list")
    return {str(server): str(tools) for server, tools in rows}
