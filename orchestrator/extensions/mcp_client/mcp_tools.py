"""Turn the tools that MCP servers list into tools for agents: names and side-effect classes.

Pure. A server's hints about its tools count only if the operator marked the server as trusted.
A server cannot take the name of a built-in tool or of another server's tool; see `name_tools`.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from orchestrator.agentsfile import AgentDefinition, McpServer, ServerSandbox
from orchestrator.extensions.mcp_client import tool_nature
from orchestrator.extensions.mcp_client.toolhost.wire import ServerTool
from orchestrator.tools.remote_tools import RemoteTool, find_owner, replace_unsafe
from orchestrator.tools.tool_server import ToolServer
from thinker.protocol.messages import JsonObject, SideEffect, ToolSpec

KEY = "_idempotency_key"  # parameter by which a server recognizes a repeated call
MAX_NAME = 64  # characters; the limit of OpenAI and Anthropic
DIGEST = 8  # characters of the hash that keeps a shortened name unique
HIDDEN = ("health",)  # not offered, like names that begin with "_"


def build_arguments(tool: RemoteTool, arguments: JsonObject, key: str) -> JsonObject:
    """Return the arguments for the server, with `KEY` if the tool takes one."""
    return {**arguments, KEY: key} if tool.keyed else arguments


def explain_smuggled_text(tool: RemoteTool, arguments: JsonObject, settings: McpServer) -> str:
    """Return why a call must not be made although its tool carries nothing; empty if it may be.

    Its server is not trusted, and an argument could hold text all the same.
    """
    if tool.carries or settings.trusted or not _can_leave_machine(settings):
        return ""
    name = tool_nature.find_smuggled_text(arguments, tool.spec.parameters)
    return name and f"it takes no argument {name!r} of this kind; leave that out"


def build_catalog(
    listed: Mapping[str, tuple[ServerTool, ...]],
    servers: Mapping[str, McpServer],
    reserved: Collection[str],
    complete: Mapping[str, tuple[ServerTool, ...]] | None = None,
) -> tuple[dict[str, RemoteTool], tuple[str, ...]]:
    """Return the usable tools, keyed by name for models, and a message about each other tool.

    ``listed`` has each server's tools, of those in ``complete``, from which names are made;
    ``reserved`` are the names of built-in tools, which win.
    """
    tools: dict[str, RemoteTool] = {}
    problems: list[str] = []
    for server, settings in servers.items():
        every = (complete or listed).get(server, ())
        names = name_tools(server, [tool.name for tool in every], servers)
        for tool in listed.get(server, ()):
            if tool.name.startswith("_") or tool.name in HIDDEN:
                continue
            name = names[tool.name]
            if name in reserved:
                problems.append(
                    f"{name}: a built-in tool has this name; rename the MCP server {server!r}"
                )
            elif name in tools:
                problems.append(
                    f"{name}: the tool {tool.name!r} of the MCP server {server!r} has a name that"
                    " is taken; rename the tool there"
                )
            else:
                tools[name] = _build_tool(name, server, settings, tool)
    return _add_lists(tools, servers), tuple(problems)


def _add_lists(
    tools: dict[str, RemoteTool], servers: Mapping[str, McpServer]
) -> dict[str, RemoteTool]:
    """Return tools that know from which tools' results the values of their calls may be.

    One that returns a whole text is no list: the text's author may have written a list.
    """
    directories = frozenset(
        name
        for name, tool in tools.items()
        if any(fnmatchcase(tool.tool, one) for one in servers[tool.server].directories)
    )
    siblings = {
        server: frozenset(
            name
            for name, tool in tools.items()
            if tool.server == server and not tool_nature.returns_whole_text(tool.tool)
        )
        for server, settings in servers.items()
        if settings.trusted
    }
    return {
        name: replace(
            tool, directories=directories, siblings=siblings.get(tool.server, frozenset())
        )
        for name, tool in tools.items()
    }


def name_tools(server: str, tools: Collection[str], servers: Collection[str]) -> dict[str, str]:
    """Return the name for models of each tool that a server lists, whatever their order.

    Of tools whose names differ only in characters that models cannot use, the one without any has
    the plain name; the others have a hash of their own. So has a tool with a name of another
    server, at a place where patterns for the tools of that server do not match.
    """
    plain = {tool: make_tool_name(server, tool) for tool in tools}
    alike = Counter(plain.values())
    named = {}
    for tool, name in plain.items():
        if _find_holder(name, server, servers) != server:
            named[tool] = _make_hashed_name(f"{replace_unsafe(server)}__", server, tool)
        elif alike[name] > 1 and name != f"{replace_unsafe(server)}_{tool}":
            named[tool] = f"{name[: MAX_NAME - DIGEST - 1]}_{_hash_name(server, tool)}"
        else:
            named[tool] = name
    return named


def _find_holder(name: str, server: str, servers: Collection[str]) -> str:
    """Return the server that has the plain name: the one whose own name is whole, if several do."""
    owner = find_owner(name, {server: None, **dict.fromkeys(servers)})
    rivals = {one for one in (*servers, server) if replace_unsafe(one) == replace_unsafe(owner)}
    if len(rivals) == 1:
        return owner
    return replace_unsafe(owner) if replace_unsafe(owner) in rivals else ""


def _make_hashed_name(prefix: str, server: str, tool: str) -> str:
    return f"{prefix}{_hash_name(server, tool)}_{replace_unsafe(tool)}"[:MAX_NAME]


def _hash_name(server: str, tool: str) -> str:
    whole = f"{server}_{tool}".encode("utf-8", "replace")
    return hashlib.sha256(whole).hexdigest()[:DIGEST]


def build_own_tools(
    listed: Mapping[str, tuple[ServerTool, ...]], servers: Mapping[str, ToolServer]
) -> dict[str, dict[str, RemoteTool]]:
    """Return the tools of single agents' servers, keyed by agent and by name without prefix."""
    found: dict[str, dict[str, RemoteTool]] = {}
    for name, server in servers.items():
        own = found.setdefault(server.agent_id, {})
        for tool in listed.get(name, ()):
            if tool.name in server.tools:
                known = _build_tool(tool.name, name, server.server, tool)
                own[tool.name] = _apply_server_nature(known, server, tool)
    return found


def _apply_server_nature(known: RemoteTool, server: ToolServer, tool: ServerTool) -> RemoteTool:
    """Return a tool of an agent's own server, whose calls have a known destination."""
    if server.origin == "web":
        return replace(known, origin="web", reads=False, carries=True, acts=False)
    carries = tool_nature.can_carry_out_data(tool, network=server.network, trusted=True)
    reads = known.reads or tool.name == server.command_tool
    return replace(known, reads=reads, carries=carries, acts=carries and not reads)


def uses_server(agent: AgentDefinition, server: str) -> bool:
    """Return whether the agent's lists may permit a tool of a server, whatever it lists."""
    prefix = f"{replace_unsafe(server)}_"
    if any(prefix.startswith(deny[:-1]) for deny in agent.denied_tools if deny.endswith("*")):
        return False
    heads = [(allow.partition("*")[0], "*" in allow) for allow in agent.allowed_tools]
    return not heads or any(
        head.startswith(prefix) or (stars and prefix.startswith(head)) for head, stars in heads
    )


def make_tool_name(server: str, tool: str) -> str:
    """Return ``{server}_{tool}`` in characters and a length that every provider accepts."""
    whole = f"{server}_{tool}"
    name = replace_unsafe(whole)
    if len(name) <= MAX_NAME:
        return name
    return f"{name[: MAX_NAME - DIGEST - 1]}_{_hash_name(server, tool)}"


def _build_tool(name: str, server: str, settings: McpServer, tool: ServerTool) -> RemoteTool:
    properties = tool.parameters.get("properties")
    keyed = settings.trusted and isinstance(properties, dict) and KEY in properties
    return RemoteTool(
        spec=ToolSpec(
            name=name,
            description=tool.description,
            parameters=_remove_key(tool.parameters) if keyed else tool.parameters,
            side_effect=_classify_side_effect(tool, trusted=settings.trusted, keyed=keyed),
        ),
        server=server,
        tool=tool.name,
        timeout=settings.timeout_seconds,
        keyed=keyed,
        reads=tool_nature.is_reading_tool(tool),
        acts=not tool_nature.is_reading_tool(tool),
        arguments=_find_arguments(tool.name, settings),
        carries=tool_nature.can_carry_out_data(
            tool, network=_can_leave_machine(settings), trusted=settings.trusted
        ),
    )


def _find_arguments(tool: str, settings: McpServer) -> Mapping[str, tuple[str, ...]]:
    told = settings.arguments.get(tool)
    return {} if told is None else {"decide": told.decide, "content": told.content}


def _can_leave_machine(settings: McpServer) -> bool:
    """Return whether calls of a server can leave the machine; those to an address always can."""
    jail = settings.sandbox
    if settings.url or not isinstance(jail, ServerSandbox):
        return True
    return jail.network is not False or jail.sockets


def _classify_side_effect(tool: ServerTool, *, trusted: bool, keyed: bool) -> SideEffect:
    if trusted and tool.read_only:
        return SideEffect.PURE
    if trusted and (keyed or tool.idempotent):
        return SideEffect.KEYED
    return SideEffect.NON_IDEMPOTENT


def _remove_key(schema: JsonObject) -> JsonObject:
    """Return the schema without the key, which the journal sets and not the model."""
    properties, required = schema.get("properties"), schema.get("required")
    shown = dict(schema)
    if isinstance(properties, dict):
        shown["properties"] = {name: value for name, value in properties.items() if name != KEY}
    if isinstance(required, list):
        shown["required"] = [name for name in required if name != KEY]
    return shown
