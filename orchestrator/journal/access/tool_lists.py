"""The tools that MCP servers listed last: offered after a restart until their servers answer."""

from orchestrator.journal.db.database import Database


def remember(db: Database, server: str, tools: str, now: int) -> None:
    """Keep a server's list, as JSON, in place of the one before."""
    db.execute(
        "INSERT INTO tool_list(server, tools, at) VALUES(?,?,?) ON CONFLICT(server)"
        " DO UPDATE SET tools = excluded.tools, at = excluded.at"
        " WHERE tool_list.tools <> excluded.tools",
        (server, tools, now),
    )


def every(db: Database) -> dict[str, str]:
    """Return the last list of every server that was ever connected, as JSON."""
    rows = db.execute("SELECT server, tools FROM tool_list")
    return {str(server): str(tools) for server, tools in rows}
