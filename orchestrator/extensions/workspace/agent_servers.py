"""Which tool servers the agents of agents.json need, and how each is started."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import structlog

from orchestrator.agentsfile import (
    AgentDefinition,
    AgentsFile,
    McpServer,
    ServerSandbox,
)
from orchestrator.extensions.workspace.agent_settings import Web, Workspace, WorkspaceFields
from orchestrator.extensions.workspace.command_order import MIB, CommandLimits
from orchestrator.extensions.workspace.web_settings import WebSettings
from orchestrator.extensions.workspace.workspace_checks import overlaps_home, overlaps_program
from orchestrator.extensions.workspace.workspace_settings import WorkspaceSettings
from orchestrator.home_paths import Paths
from orchestrator.tools.tool_server import ToolServer
from thinker.jail.worker_jail import list_code_paths

KIB = 1024
SPARE_SECONDS = 30  # of a call beyond the time limit of its command or page
FILE_TOOLS = ("read_file", "write_file", "edit_file", "take_file", "list_dir", "search_files")
COMMAND_TOOL = "run_command"
PROGRAMS = "programs"  # among the chats' folders, whose names are longer
WORKSPACE_TOOLS = (*FILE_TOOLS, COMMAND_TOOL)
WEB_TOOLS = ("fetch", "search")
log = structlog.get_logger()


def build_tool_servers(file: AgentsFile, paths: Paths) -> dict[str, ToolServer]:
    """Return the servers, keyed by a name that no server in agents.json can have."""
    found: dict[str, ToolServer] = {}
    for agent in file.agents:
        own = agent.get_fields(WorkspaceFields)
        if agent.enabled and own.workspace is not None:
            found[f"workspace@{agent.agent_id}"] = _build_workspace_server(
                agent, own.workspace, paths
            )
        if agent.enabled and own.web is not None:
            found[f"web@{agent.agent_id}"] = _build_web_server(agent, own.web, paths)
    return found


def list_served_tools(file: AgentsFile | None) -> tuple[str, ...]:
    """Return the names of the tools that agents have; without a file, the names of all tools."""
    if file is None:
        return WORKSPACE_TOOLS + WEB_TOOLS
    own = [agent.get_fields(WorkspaceFields) for agent in file.agents]
    workspaces = any(fields.workspace is not None for fields in own)
    web = any(fields.web is not None for fields in own)
    return (WORKSPACE_TOOLS if workspaces else ()) + (WEB_TOOLS if web else ())


def _build_workspace_server(
    agent: AgentDefinition, settings: Workspace, paths: Paths
) -> ToolServer:
    limits, folder = settings.limits, paths.workspaces / agent.agent_id
    chats = paths.find_chat_workspaces(agent.agent_id)
    wanted = WorkspaceSettings(
        workspace=os.path.realpath(folder),
        paths=dict(_list_folders(agent, settings, paths.home)),
        skills=[os.path.realpath(path) for path in paths.list_skill_directories(agent.agent_id)],
        skill_globs=agent.skills,
        network=settings.network is True,
        hosts=settings.network if isinstance(settings.network, tuple) else (),
        jailed=settings.sandbox == "required",
        limits=CommandLimits(
            seconds=limits.seconds,
            memory=limits.memory_megabytes * MIB,
            processes=limits.processes,
            file_size=limits.file_megabytes * MIB,
        ),
        output=limits.output_kilobytes * KIB,
        chats=os.path.realpath(chats),
        programs=os.path.realpath(chats / PROGRAMS),
    )
    jail = ServerSandbox(
        read=(
            *list_code_paths(paths.home),  # it guesses the encoding of texts with a library
            *wanted.skills,
            *(path for path, changed in wanted.paths.items() if not changed),
        ),
        write=(
            wanted.workspace,
            wanted.chats,
            *(path for path, changed in wanted.paths.items() if changed),
        ),
        network=bool(settings.network),  # the server's proxy reaches the hosts of a list
    )
    server = _build_server("workspace", wanted.to_json(), limits.seconds, jail)
    return ToolServer(
        agent_id=agent.agent_id,
        server=server,
        tools=WORKSPACE_TOOLS,
        network=bool(settings.network),
        command_tool=COMMAND_TOOL,
        folder=folder,
        chats=chats,
    )


def _list_folders(
    agent: AgentDefinition, settings: Workspace, home: Path
) -> Iterator[tuple[str, bool]]:
    """Yield the real path of each other folder, and whether the folder may be changed."""
    home = Path(os.path.realpath(home))
    for text, mode in settings.paths.items():
        path = Path(os.path.realpath(Path(text).expanduser()))
        if overlaps_home(path, home) or (mode == "rw" and overlaps_program(path)):
            log.error("workspace_path_refused", agent_id=agent.agent_id, path=text)
        else:
            yield str(path), mode == "rw"


def _build_web_server(agent: AgentDefinition, settings: Web, paths: Paths) -> ToolServer:
    wanted = WebSettings(
        search=settings.search,
        private=settings.allow_private,
        seconds=settings.seconds,
        max_bytes=settings.megabytes * MIB,
    )
    jail = ServerSandbox(read=tuple(list_code_paths(paths.home)))  # it needs an HTTP client
    server = _build_server("web", wanted.to_json(), settings.seconds, jail)
    return ToolServer(agent.agent_id, server, WEB_TOOLS, network=True, origin="web")


def _build_server(name: str, settings: str, seconds: int, jail: ServerSandbox) -> McpServer:
    return McpServer(
        command=sys.executable,
        args=("-P", "-m", f"orchestrator.extensions.workspace.{name}", settings),
        trusted=True,
        pin=False,
        sandbox=jail,
        timeout_seconds=seconds + SPARE_SECONDS,
    )
