"""Turn the tools that MCP servers list into tools for agents: names and side-effect classes.

Pure. A server's hints about its tools count only if the operator marked the server as trusted.
A server cannot take the name of a built-in tool or of another server's tool.
"""

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from orchestrator.agentsfile import McpServer, ServerSandbox
from orchestrator.hands.hand_servers import HandServer
from orchestrator.toolhost.wire import ServerTool
from orchestrator.tools.mcp import tool_nature
from thinker.protocol.messages import JsonObject, Origin, SideEffect, ToolSpec

KEY = "_idempotency_key"  # parameter by which a server recognizes a repeated call
MAX_NAME = 64  # characters; the limit of OpenAI and Anthropic
DIGEST = 8  # characters of the hash that keeps a shortened name unique
HIDDEN = ("health",)  # not offered, like names that begin with "_"


@dataclass(frozen=True)
class McpTool:
    """One tool of one server; ``timeout`` in seconds.

    ``keyed``: it takes `KEY`. ``env`` are variables that its server gets with each call. ``origin``
    is that of its results; ``reads``: they are private; ``carries``: a call can carry data out.
    """

    spec: ToolSpec
    server: str
    tool: str
    timeout: float
    keyed: bool
    env: Mapping[str, str] = field(default_factory=dict)
    origin: Origin = "tool"
    reads: bool = False
    carries: bool = True

    def arguments(self, arguments: JsonObject, key: str) -> JsonObject:
        """Return the arguments for the server, with the key if the tool takes one."""
        return {**arguments, KEY: key} if self.keyed else arguments


def build_catalog(
    listed: Mapping[str, tuple[ServerTool, ...]],
    servers: Mapping[str, McpServer],
    reserved: Collection[str],
) -> tuple[dict[str, McpTool], tuple[str, ...]]:
    """Return every usable tool by its name for models, and a message about each other tool.

    ``listed`` has each server's tools; ``reserved`` are the names of built-in tools, which win.
    """
    tools: dict[str, McpTool] = {}
    problems: list[str] = []
    for server, settings in servers.items():
        for tool in listed.get(server, ()):
            if tool.name.startswith("_") or tool.name in HIDDEN:
                continue
            name = name_for(server, tool.name)
            holder = owner(name, servers)
            if name in reserved:
                problems.append(f"{name}: a built-in tool has this name; rename the MCP server")
            elif holder != server or name in tools:
                problems.append(
                    f"{name}: the tool {tool.name!r} of the MCP server {server!r} has a name of"
                    f" {holder!r}; rename one of the servers"
                )
            else:
                tools[name] = _tool(name, server, settings, tool)
    return tools, tuple(problems)


def own_tools(
    listed: Mapping[str, tuple[ServerTool, ...]], hands: Mapping[str, HandServer]
) -> dict[str, dict[str, McpTool]]:
    """Return the tools of bundled servers by agent and name; their names have no prefix."""
    found: dict[str, dict[str, McpTool]] = {}
    for server, hand in hands.items():
        own = found.setdefault(hand.agent_id, {})
        for tool in listed.get(server, ()):
            if tool.name in hand.tools:
                own[tool.name] = _bundled(hand, _tool(tool.name, server, hand.server, tool), tool)
    return found


def _bundled(hand: HandServer, known: McpTool, tool: ServerTool) -> McpTool:
    """Return a tool of a bundled server, which tells where its texts and calls go."""
    if hand.origin == "web":
        return replace(known, origin="web", reads=False, carries=True)
    carries = tool_nature.carries(tool, network=hand.network)
    return replace(known, reads=known.reads or tool.name == "run_command", carries=carries)


def name_for(server: str, tool: str) -> str:
    """Return ``{server}_{tool}`` in characters and a length that every provider accepts."""
    whole = f"{server}_{tool}"
    name = _safe(whole)
    if len(name) <= MAX_NAME:
        return name
    digest = hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:DIGEST]
    return f"{name[: MAX_NAME - DIGEST - 1]}_{digest}"


def _safe(text: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "_", text)


def owner(name: str, servers: Collection[str]) -> str:
    """Return the server with the longest fitting prefix: ``git_hub_push`` is not of ``git``."""
    fitting = [server for server in servers if name.startswith(f"{_safe(server)}_")]
    return max(fitting, key=len, default="")


def _tool(name: str, server: str, settings: McpServer, tool: ServerTool) -> McpTool:
    properties = tool.parameters.get("properties")
    keyed = settings.trusted and isinstance(properties, dict) and KEY in properties
    return McpTool(
        spec=ToolSpec(
            name=name,
            description=tool.description,
            parameters=_without_key(tool.parameters) if keyed else tool.parameters,
            side_effect=_class(tool, trusted=settings.trusted, keyed=keyed),
        ),
        server=server,
        tool=tool.name,
        timeout=settings.timeout_seconds,
        keyed=keyed,
        reads=tool_nature.reads(tool),
        carries=tool_nature.carries(tool, network=_network(settings)),
    )


def _network(settings: McpServer) -> bool:
    """Return whether calls of a server can leave the machine: an address does by itself."""
    jail = settings.sandbox
    if settings.url or not isinstance(jail, ServerSandbox):
        return True
    return jail.network is not False or jail.sockets


def _class(tool: ServerTool, *, trusted: bool, keyed: bool) -> SideEffect:
    if trusted and tool.read_only:
        return SideEffect.PURE
    if trusted and (keyed or tool.idempotent):
        return SideEffect.KEYED
    return SideEffect.NON_IDEMPOTENT


def _without_key(schema: JsonObject) -> JsonObject:
    """Return the schema without the key, which the journal sets and not the model."""
    properties, required = schema.get("properties"), schema.get("required")
    shown = dict(schema)
    if isinstance(properties, dict):
        shown["properties"] = {name: value for name, value in properties.items() if name != KEY}
    if isinstance(required, list):
        shown["required"] = [name for name in required if name != KEY]
    return shown
