"""The last list of each MCP server."""

from pathlib import Path

from fakes.journal import job, opened

from orchestrator.extensions.mcp_client import tool_lists


def test_last_list_of_each_server_stays(tmp_path: Path) -> None:
    """An equal list is not written again."""
    with opened(tmp_path) as db, job(db):
        tool_lists.store_tool_list(db, "files", "[1]", 1)
        tool_lists.store_tool_list(db, "files", "[2]", 2)
        tool_lists.store_tool_list(db, "wiki", "[3]", 3)
        assert tool_lists.load_tool_lists(db) == {"files": "[2]", "wiki": "[3]"}
        tool_lists.store_tool_list(db, "files", "[2]", 4)
        assert db.execute("SELECT at FROM tool_list WHERE server = 'files'").get == 2
