"""MCP tools as agents see them: names, side-effect classes, and whose call goes where.

Pure. What a server says of itself is believed only when the operator marked it as trusted; what
it lists is text from outside, kept from other servers' names and from ours.
"""

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from orchestrator.agentsfile import McpServer
from orchestrator.toolhost.wire import ServerTool
from thinker.protocol.messages import JsonObject, SideEffect, ToolSpec

KEY = "_idempotency_key"  # a parameter by which a server knows a repeated call (§4.4)
MAX_NAME = 64  # characters; what OpenAI and Anthropic take
DIGEST = 8  # characters of a hash that keeps a shortened name unique
HIDDEN = ("health",)  # beside names that begin with "_"


@dataclass(frozen=True)
class McpTool:
    """One tool of one server; ``timeout`` in seconds. ``keyed``: it takes `KEY`.

    ``env`` are variables that its server is told with a call.
    """

    spec: ToolSpec
    server: str
    tool: str
    timeout: float
    keyed: bool
    env: Mapping[str, str] = field(default_factory=dict)

    def arguments(self, given: JsonObject, key: str) -> JsonObject:
        """The arguments that its server gets."""
        return {**given, KEY: key} if self.keyed else given


def catalogue(
    listed: Mapping[str, tuple[ServerTool, ...]],
    servers: Mapping[str, McpServer],
    reserved: Collection[str],
) -> tuple[dict[str, McpTool], tuple[str, ...]]:
    """Every usable tool by its name for models, and what is wrong with the others.

    ``listed`` has each server's tools, ``reserved`` the names of built-in tools, which win.
    """
    tools: dict[str, McpTool] = {}
    problems: list[str] = []
    for server, settings in servers.items():
        for tool in _offered(listed.get(server, ())):
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


def name_for(server: str, tool: str) -> str:
    """``{server}_{tool}`` in the letters that every provider takes."""
    whole = f"{server}_{tool}"
    name = _safe(whole)
    if len(name) <= MAX_NAME:
        return name
    digest = hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:DIGEST]
    return f"{name[: MAX_NAME - DIGEST - 1]}_{digest}"


def _safe(text: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "_", text)


def _offered(tools: tuple[ServerTool, ...]) -> Iterator[ServerTool]:
    return (tool for tool in tools if not tool.name.startswith("_") and tool.name not in HIDDEN)


def owner(name: str, servers: Collection[str]) -> str:
    """Whose name it is by its longest prefix: ``git`` must not answer for ``git_hub``."""
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
    )


def _class(tool: ServerTool, *, trusted: bool, keyed: bool) -> SideEffect:
    if trusted and tool.read_only:
        return SideEffect.PURE
    if trusted and (keyed or tool.idempotent):
        return SideEffect.KEYED
    return SideEffect.NON_IDEMPOTENT


def _without_key(schema: JsonObject) -> JsonObject:
    """The schema as the model sees it: the key is the journal's, not the model's."""
    properties, required = schema.get("properties"), schema.get("required")
    shown = dict(schema)
    if isinstance(properties, dict):
        shown["properties"] = {name: value for name, value in properties.items() if name != KEY}
    if isinstance(required, list):
        shown["required"] = [name for name in required if name != KEY]
    return shown
