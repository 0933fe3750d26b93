"""Checks of the MCP servers in agents.json: transports, programs, and what opens a jail."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from orchestrator.agentsfile import McpServer, ServerSandbox
from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.problems import list_field_names, suggest_name
from orchestrator.extensions.mcp_client.jail_openings import list_jail_openings, list_missed_paths

TRANSPORTS = {"command": ("stdio",), "url": ("http", "sse")}
STREAMABLE = ("streamable-http", "streamableHttp", "streamable_http")  # "http" of other hosts


def check_servers(draft: Draft, environ: Mapping[str, str] | None, home: Path | None) -> None:
    """Warn about what has no effect or opens a jail, and leave out what would open the home."""
    _check_server_types(draft)
    if home is not None:
        _check_closed_paths(draft, home)
    _check_openings(draft)
    if environ is not None:
        _check_missed_paths(draft)
        _check_programs(draft, environ)


def _check_server_types(draft: Draft) -> None:
    for name, server in draft.mcp_servers.items():
        if server.type is None and (server.url or "").rstrip("/").endswith("/sse"):
            draft.add_warning(
                ("mcpServers", name, "url"),
                f"MCP server '{name}': the address looks like one of the older transport; set"
                ' "type": "sse", or its streamable HTTP address, often …/mcp',
            )
        place = "command" if server.command else "url"
        stated = "http" if server.type in STREAMABLE else server.type
        if stated is not None and stated not in TRANSPORTS[place]:
            known = " or ".join(f'"{transport}"' for transport in TRANSPORTS[place])
            draft.add_warning(
                ("mcpServers", name, "type"),
                f"MCP server '{name}': the type \"{server.type}\" is ignored, as it fits no server"
                f' with "{place}"; write {known}, or remove it',
            )
        fields = list_field_names(McpServer)
        for extra in server.model_extra or {}:
            draft.add_warning(
                ("mcpServers", name, extra),
                f"MCP server '{name}': the field \"{extra}\" is unknown and ignored"
                + suggest_name(extra, fields),
            )


def _check_programs(draft: Draft, environ: Mapping[str, str]) -> None:
    """Warn about each MCP server whose program is not on this machine."""
    for name, server in draft.mcp_servers.items():
        command = server.command or ""
        path = server.env.get("PATH") or environ.get("PATH")
        in_folder = server.cwd is not None and "/" in command  # a path from there on
        if not command or not server.is_enabled or in_folder or shutil.which(command, path=path):
            continue
        first, *words = command.split()
        advice = "install it or write its whole path"
        if words:
            advice = f'write the program alone, "{first}", and each further word in "args"'
        draft.add_warning(
            ("mcpServers", name, "command"),
            f"MCP server '{name}': there is no program '{command}' here; {advice}",
        )


def _check_closed_paths(draft: Draft, home: Path) -> None:
    """Leave servers out whose jail would open the daemon's home."""
    for name, server in list(draft.mcp_servers.items()):
        if isinstance(server.sandbox, str):
            continue
        for field, path in _list_paths_in_home(server.sandbox, home):
            draft.add_error(
                ("mcpServers", name, "sandbox", field),
                f"MCP server '{name}': {path} is in the daemon's home, of which only workspaces can"
                " be opened; choose another folder",
            )
            draft.mcp_servers.pop(name, None)


def _check_openings(draft: Draft) -> None:
    """Name what opens a jail, and leave out a server that asks for what none may have."""
    for name, server in list(draft.mcp_servers.items()):
        if server.command is None:
            if "sandbox" in server.model_fields_set:
                draft.add_warning(
                    ("mcpServers", name, "sandbox"),
                    f"MCP server '{name}' runs elsewhere: its \"sandbox\" has no effect; remove it",
                )
            continue
        for opening in list_jail_openings(server.sandbox):
            at = ("mcpServers", name, "sandbox", *([opening.field] if opening.field else []))
            if opening.refused:
                draft.add_error(at, f"MCP server '{name}': {opening.effect}")
                draft.mcp_servers.pop(name, None)
            else:
                text = f"MCP server '{name}': \"sandbox\" is weakened, {opening.effect}"
                draft.add_warning(at, text)


def _check_missed_paths(draft: Draft) -> None:
    """Say which paths a server names that its jail closes, and how they are opened."""
    for name, server in draft.mcp_servers.items():
        if server.is_enabled and draft.sandbox != "off":
            for text in list_missed_paths(server):
                draft.add_warning(("mcpServers", name), f"MCP server '{name}' {text}")


def _list_paths_in_home(sandbox: ServerSandbox, home: Path) -> Iterator[tuple[str, str]]:
    """Yield the field and path of whatever lies in the daemon's home, outside of the workspaces."""
    home = home.resolve()
    for name in ("read", "write"):
        for path in getattr(sandbox, name) or ():
            real = Path(path).expanduser().resolve()
            if real.is_relative_to(home) and not real.is_relative_to(home / "workspaces"):
                yield name, path
