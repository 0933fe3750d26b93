"""Checks of the MCP servers in agents.json: transports, programs, and what opens a jail."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from orchestrator.agentsfile import McpServer, ServerSandbox
from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.problems import list_field_names, suggest_name

TRANSPORTS = {"command": ("stdio",), "url": ("http", "sse")}
STREAMABLE = ("streamable-http", "streamableHttp", "streamable_http")  # "http" of other hosts
# Folders of a user with keys, or with what starts by itself outside of any jail.
SENSITIVE = (
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".password-store",
    ".config",
    ".local/bin",
    ".local/share/keyrings",
    ".bashrc",
    ".profile",
    ".zshrc",
)
SHARED = frozenset({"/", "/etc", "/home", "/root", "/run", "/var"})


def check_servers(draft: Draft, environ: Mapping[str, str] | None, home: Path | None) -> None:
    """Warn about what has no effect or opens a jail, and leave out what would open the home."""
    _check_server_types(draft)
    if home is not None:
        _check_closed_paths(draft, home)
    _check_weakened_jails(draft)
    if environ is not None:
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


def _check_weakened_jails(draft: Draft) -> None:
    """Warn about what lets a server out of its jail."""
    for name, server in draft.mcp_servers.items():
        if server.command is None:
            if "sandbox" in server.model_fields_set:
                draft.add_warning(
                    ("mcpServers", name, "sandbox"),
                    f"MCP server '{name}' runs elsewhere: its \"sandbox\" has no effect; remove it",
                )
            continue
        for field, effect in _list_weakenings(server.sandbox):
            draft.add_warning(
                ("mcpServers", name, "sandbox", *([field] if field else [])),
                f"MCP server '{name}': \"sandbox\" is weakened, {effect}",
            )


def _list_weakenings(sandbox: ServerSandbox | str) -> Iterator[tuple[str, str]]:
    """Yield each field that weakens a jail ("" for all), and what the server can do then."""
    if not isinstance(sandbox, ServerSandbox):
        yield "", "it can read and change what the tool host can, and use any socket"
        return
    if sandbox.sockets:
        yield "sockets", "it can ask programs outside of its jail to act for it"
    for name in ("read", "write"):
        for path in getattr(sandbox, name) or ():
            if _is_sensitive(path):
                yield name, f"it reaches {path}, which holds keys or starts programs"


def _list_paths_in_home(sandbox: ServerSandbox, home: Path) -> Iterator[tuple[str, str]]:
    """Yield the field and path of whatever lies in the daemon's home, outside of the workspaces."""
    home = home.resolve()
    for name in ("read", "write"):
        for path in getattr(sandbox, name) or ():
            real = Path(path).expanduser().resolve()
            if real.is_relative_to(home) and not real.is_relative_to(home / "workspaces"):
                yield name, path


def _is_sensitive(path: str) -> bool:
    real = Path(path).expanduser()
    user = Path("~").expanduser()
    return (
        str(real) in SHARED
        or user.is_relative_to(real)
        or any(real.is_relative_to(user / name) for name in SENSITIVE)
    )
