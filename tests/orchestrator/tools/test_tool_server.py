"""Servers that extensions bring for single agents."""

import stat
from collections.abc import Mapping
from pathlib import Path

from orchestrator.agentsfile import McpServer
from orchestrator.extension import Extension
from orchestrator.home_paths import Paths
from orchestrator.tools.tool_server import ToolServer, join_tool_servers, make_folder


class Brings(Extension):
    """Brings a server of the agent ``work`` by a name."""

    def __init__(self, name: str, server: str) -> None:
        self.name, self._server = name, server

    def servers(self) -> Mapping[str, ToolServer]:
        """What it brings."""
        program = McpServer(command="true")
        return {self._server: ToolServer("work", program, (self.name,), network=False)}


def test_server_has_a_name_that_no_other_can_have() -> None:
    """Neither one of agents.json nor one of an extension before it."""
    brought = [Brings("a", "work"), Brings("b", "b@work"), Brings("c", "b@work")]
    found = join_tool_servers((extension, extension.servers()) for extension in brought)
    assert {name: server.tools for name, server in found.items()} == {"b@work": ("b",)}


def test_folder_is_made_for_this_user_alone(tmp_path: Path) -> None:
    """One that cannot be made is logged, and the others have theirs."""
    paths = Paths(tmp_path)
    make_folder(paths.workspaces / "work")
    assert stat.S_IMODE((paths.workspaces / "work").stat().st_mode) == 0o700
    (tmp_path / "file").touch()
    make_folder(tmp_path / "file" / "work")
