"""The extension for the MCP client: tools of MCP servers."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.extension import Command, DaemonView, Extension, Part

if TYPE_CHECKING:
    from orchestrator.agentsfile import AgentsFile
    from orchestrator.agentsfile.draft import Draft
    from orchestrator.control.protocol import StatusReport
    from orchestrator.findings import Finding, JailKind
    from orchestrator.home_paths import Paths
    from orchestrator.journal.db.database import Database
    from orchestrator.settings import Settings
    from orchestrator.tools.remote_tools import RemoteTool


class McpClientExtension(Extension):
    """The servers run in jails, behind a process that holds the sessions with them."""

    name = "mcp_client"
    file_fields = ("mcpServers",)

    def check_agents_file(
        self, draft: "Draft", environ: Mapping[str, str] | None, home: Path | None
    ) -> None:
        from orchestrator.extensions.mcp_client.server_checks import check_servers

        check_servers(draft, environ, home)

    def list_commands(self) -> Mapping[str, Command]:
        return {
            "tools": Command(
                "Agents",
                "List the tools of MCP servers, or approve a changed one.",
                "orchestrator.extensions.mcp_client.tools_command",
            )
        }

    def find_remembered_tools(
        self,
        db: "Database",
        file: "AgentsFile",
        paths: "Paths",
        agent_id: str,
        reserved: Collection[str],
        now: int,
    ) -> "Mapping[str, RemoteTool]":
        from orchestrator.extensions.mcp_client.remembered_tools import find_remembered_tools

        return find_remembered_tools(db, file, paths, agent_id, reserved, now)

    def list_findings(
        self, settings: "Settings", file: "AgentsFile | None", status: "StatusReport | None"
    ) -> "Iterator[Finding]":
        del settings, status
        from orchestrator.extensions.mcp_client.jail_openings import list_jail_findings

        if file is not None:
            yield from list_jail_findings(file)

    def list_jail_kinds(self) -> "Iterable[JailKind]":
        from orchestrator.extensions.mcp_client.jail_kinds import JAIL_KINDS

        return JAIL_KINDS

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.mcp_client.servers_part import ServersPart

        return ServersPart(daemon)
