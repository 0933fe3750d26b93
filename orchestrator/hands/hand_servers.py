"""Which bundled servers the agents of agents.json need, and how each is started."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import structlog

from orchestrator.agentsfile import (
    AgentDefinition,
    AgentsFile,
    McpServer,
    ServerSandbox,
    Web,
    Workspace,
)
from orchestrator.agentsfile.hand_checks import overlaps
from orchestrator.hands.command_order import MIB, CommandLimits
from orchestrator.hands.web_settings import WebSettings
from orchestrator.hands.workspace_settings import WorkspaceSettings
from orchestrator.home_paths import Paths
from thinker.protocol.messages import Origin

KIB = 1024
SPARE_SECONDS = 30  # of a call beyond the time limit of its command or page
WORKSPACE_TOOLS = (
    *("read_file", "write_file", "edit_file", "take_file"),
    *("list_dir", "search_files", "run_command"),
)
WEB_TOOLS = ("fetch", "search")
log = structlog.get_logger()


class HandServer(NamedTuple):
    """The bundled server of one agent. ``network`` tells whether its calls can leave the machine.

    ``tools`` are the names that it may offer, to this agent alone; ``origin`` is that of results.
    """

    agent_id: str
    server: McpServer
    tools: tuple[str, ...]
    network: bool
    origin: Origin = "tool"


def hand_servers(file: AgentsFile, paths: Paths) -> dict[str, HandServer]:
    """Return the servers by name; a name cannot be that of a server in agents.json."""
    found: dict[str, HandServer] = {}
    for agent in file.agents:
        if agent.enabled and agent.workspace is not None:
            found[f"workspace@{agent.agent_id}"] = _workspace(agent, agent.workspace, paths)
        if agent.enabled and agent.web is not None:
            found[f"web@{agent.agent_id}"] = _web(agent, agent.web)
    return found


def hand_tools(file: AgentsFile) -> frozenset[str]:
    """Return the names of the tools that agents have from bundled servers."""
    workspaces = any(agent.workspace is not None for agent in file.agents)
    web = any(agent.web is not None for agent in file.agents)
    return frozenset((*(WORKSPACE_TOOLS if workspaces else ()), *(WEB_TOOLS if web else ())))


def prepare(file: AgentsFile, paths: Paths) -> None:
    """Make the folder of each workspace, for this user only; a failure is logged."""
    for agent in file.agents:
        if agent.enabled and agent.workspace is not None:
            folder = paths.workspaces / agent.agent_id
            try:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                log.error("workspace_unusable", path=str(folder), problem=error.strerror)


def _workspace(agent: AgentDefinition, settings: Workspace, paths: Paths) -> HandServer:
    limits = settings.limits
    wanted = WorkspaceSettings(
        workspace=os.path.realpath(paths.workspaces / agent.agent_id),
        paths=dict(_folders(agent, settings, paths.home)),
        skills=[os.path.realpath(path) for path in paths.skill_directories(agent.agent_id)],
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
    )
    jail = ServerSandbox(
        read=(*wanted.skills, *(path for path, changed in wanted.paths.items() if not changed)),
        write=(wanted.workspace, *(path for path, changed in wanted.paths.items() if changed)),
        network=bool(settings.network),  # the server's proxy reaches the hosts of a list
    )
    server = _server("workspace", wanted.to_json(), limits.seconds, jail)
    return HandServer(agent.agent_id, server, WORKSPACE_TOOLS, bool(settings.network))


def _folders(agent: AgentDefinition, settings: Workspace, home: Path) -> Iterator[tuple[str, bool]]:
    """Yield the other folders by real path, and whether they may be changed."""
    home = Path(os.path.realpath(home))
    for text, mode in settings.paths.items():
        path = Path(os.path.realpath(Path(text).expanduser()))
        if overlaps(path, home):
            log.error("workspace_path_refused", agent_id=agent.agent_id, path=text)
        else:
            yield str(path), mode == "rw"


def _web(agent: AgentDefinition, settings: Web) -> HandServer:
    wanted = WebSettings(
        search=settings.search,
        private=settings.allow_private,
        seconds=settings.seconds,
        max_bytes=settings.megabytes * MIB,
    )
    jail = ServerSandbox(read=())
    server = _server("web", wanted.to_json(), settings.seconds, jail)
    return HandServer(agent.agent_id, server, WEB_TOOLS, network=True, origin="web")


def _server(name: str, settings: str, seconds: int, jail: ServerSandbox) -> McpServer:
    return McpServer(
        command=sys.executable,
        args=("-P", "-m", f"orchestrator.hands.{name}", settings),
        trusted=True,
        pin=False,
        sandbox=jail,
        timeout_seconds=seconds + SPARE_SECONDS,
    )
