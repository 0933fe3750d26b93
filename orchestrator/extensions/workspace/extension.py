"""The extension for workspaces: tools of each agent for files, commands and the web."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.extension import Extension

if TYPE_CHECKING:
    from orchestrator.agentsfile import AgentsFile, ConfigModel
    from orchestrator.agentsfile.draft import Draft
    from orchestrator.findings import JailKind
    from orchestrator.home_paths import Paths
    from orchestrator.tools.tool_server import ToolServer


class WorkspaceExtension(Extension):
    """A folder for each agent, and its access to the web."""

    name = "workspace"

    def get_agent_model(self) -> "type[ConfigModel]":
        from orchestrator.extensions.workspace.agent_settings import WorkspaceFields

        return WorkspaceFields

    def check_agents_file(
        self, draft: "Draft", environ: Mapping[str, str] | None, home: Path | None
    ) -> None:
        from orchestrator.extensions.workspace.workspace_checks import check_workspaces

        check_workspaces(draft, environ, home)

    def list_jail_kinds(self) -> "Iterable[JailKind]":
        from orchestrator.extensions.workspace.workspace_jails import JAIL_KINDS

        return JAIL_KINDS

    def list_tool_servers(self, file: "AgentsFile", paths: "Paths") -> "Mapping[str, ToolServer]":
        from orchestrator.extensions.workspace.agent_servers import build_tool_servers

        return build_tool_servers(file, paths)

    def list_served_tools(self, file: "AgentsFile | None") -> Sequence[str]:
        from orchestrator.extensions.workspace.agent_servers import list_served_tools

        return list_served_tools(file)
