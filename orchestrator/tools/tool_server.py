"""MCP servers that extensions provide to single agents, such as a workspace.

Their tools have no prefix, and only the server's agent has them.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import structlog

from orchestrator.active_extensions import ask_active
from orchestrator.agentsfile import AgentsFile, McpServer
from orchestrator.home_paths import Paths
from orchestrator.installed import Loaded
from thinker.protocol.messages import Origin

MARK = "@"  # in the name of such a server; no server in agents.json has it
log = structlog.get_logger()


class ToolServer(NamedTuple):
    """The server of one agent. ``network`` tells whether its calls can leave the machine.

    ``tools`` are the names that it may offer, only to this agent; ``origin`` is that of results.
    ``command_tool`` is the one that runs whatever the model writes: its results count as private.
    The ``folder`` and the ``chats`` folder are made before the server starts, for this user only.
    """

    agent_id: str
    server: McpServer
    tools: tuple[str, ...]
    network: bool
    origin: Origin = "tool"
    command_tool: str = ""
    folder: Path | None = None
    chats: Path | None = None


def prepare_tool_servers(file: AgentsFile, paths: Paths) -> dict[str, ToolServer]:
    """Return the servers of all extensions by name, after making their folders."""
    found = collect_tool_servers(file, paths)
    for server in found.values():
        for folder in filter(None, (server.folder, server.chats)):
            make_folder(folder)
    return found


def collect_tool_servers(file: AgentsFile, paths: Paths) -> dict[str, ToolServer]:
    """Return the servers of all extensions by name."""
    return join_tool_servers(ask_active(file, lambda one: dict(one.list_tool_servers(file, paths))))


def join_tool_servers(
    brought: Iterable[tuple[Loaded, Mapping[str, ToolServer]]],
) -> dict[str, ToolServer]:
    """Join the servers of extensions; log each one with an unusable name."""
    found: dict[str, ToolServer] = {}
    for extension, servers in brought:
        for name, server in servers.items():
            if MARK in name and name not in found:
                found[name] = server
            else:
                advice = f"call it NAME{MARK}AGENT, by a name that no other extension uses"
                log.warning(
                    "tool_server_left_out", extension=extension.name, server=name, problem=advice
                )
    return found


def make_folder(folder: Path) -> None:
    """Make the folder of a server, for this user only; log a failure."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        log.error("tool_server_has_no_folder", path=str(folder), problem=error.strerror)


def list_served_tools(file: AgentsFile) -> frozenset[str]:
    """List the tools that agents of a file have from such servers."""
    return _collect_names(file, file)


def list_servable_tools(file: AgentsFile) -> frozenset[str]:
    """List all tools that agents of a file could have from such servers."""
    return _collect_names(file, None)


def _collect_names(file: AgentsFile, asked: AgentsFile | None) -> frozenset[str]:
    answers = ask_active(file, lambda extension: tuple(extension.list_served_tools(asked)))
    return frozenset(name for _, names in answers for name in names)
