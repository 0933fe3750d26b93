"""Checks across the parts of agents.json: duplicate names, unknown names, missing keys."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from orchestrator.agentsfile.agents_file import Channels, McpServer, openings
from orchestrator.agentsfile.api_checks import check_api
from orchestrator.agentsfile.channel_checks import (
    check_addresses,
    check_channels,
    check_keys,
    check_order,
    check_prefixes,
)
from orchestrator.agentsfile.channel_kinds import channel_kinds
from orchestrator.agentsfile.chat_ids import check_bound_ids
from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.group_checks import check_groups
from orchestrator.agentsfile.hand_checks import check_hands
from orchestrator.agentsfile.hook_checks import check_hooks
from orchestrator.agentsfile.hosted_checks import check_hosted
from orchestrator.agentsfile.money_checks import check_money
from orchestrator.agentsfile.page_checks import check_page
from orchestrator.agentsfile.plain_addresses import check_plain
from orchestrator.agentsfile.problems import field_names, suggestion
from orchestrator.agentsfile.server_sandbox import inside_home, weakenings
from orchestrator.agentsfile.telegram_checks import check_telegram

TRANSPORTS = {"command": ("stdio",), "url": ("http", "sse")}
STREAMABLE = ("streamable-http", "streamableHttp", "streamable_http")  # "http" of other hosts
SHOWN = 5  # names of agents in one warning


def check(draft: Draft, environ: Mapping[str, str] | None = None, home: Path | None = None) -> None:
    """Run every check.

    ``environ`` is where provider keys are looked up, ``home`` the daemon's; None skips its checks.
    """
    declared = _declared(draft)
    _unique_agents(draft)
    _unique_ports(draft)
    _bindings(draft, declared)
    check_order(draft)
    _fallback(draft, declared)
    check_addresses(draft)
    check_hooks(draft, declared)
    _reachable(draft)
    check_telegram(draft, environ)
    check_channels(draft, environ, home)
    check_groups(draft)
    check_hosted(draft, environ)
    check_bound_ids(draft)
    check_page(draft)
    check_api(draft)
    _servers(draft)
    check_plain(draft)
    check_hands(draft, environ, home)
    if home is not None:
        _closed_paths(draft, home)
    check_money(draft)
    _weakened(draft)
    _joined(draft)
    if environ is not None:
        _programs(draft, environ)
        check_keys(draft, environ, home)
        check_prefixes(draft)


def _declared(draft: Draft) -> set[str]:
    """Return every agent id in the file, also those of invalid agents."""
    value = draft.document.value
    agents = value.get("agents") if isinstance(value, dict) else None
    items = agents if isinstance(agents, list) else []
    ids = [item.get("agentId") for item in items if isinstance(item, dict)]
    return {agent_id for agent_id in ids if isinstance(agent_id, str)}


def _unique_agents(draft: Draft) -> None:
    first: dict[str, int] = {}
    for number, agent in list(draft.agents.items()):
        name = agent.agent_id
        if name in first:
            draft.error(
                ("agents", number, "agentId"),
                f"agent '{name}' is defined a second time (first in line "
                f"{draft.line('agents', first[name], 'agentId')}); rename or remove one",
                name,
            )
            del draft.agents[number]
        else:
            first[name] = number


def _unique_ports(draft: Draft) -> None:
    holders: dict[int, str] = {}
    for number, agent in list(draft.agents.items()):
        if not agent.enabled or not agent.port:
            continue
        if agent.port in holders:
            draft.error(
                ("agents", number, "port"),
                f"agent '{agent.agent_id}' has port {agent.port} of agent "
                f"'{holders[agent.port]}'; choose another or 0",
                agent.agent_id,
            )
            del draft.agents[number]
        else:
            holders[agent.port] = agent.agent_id


def _bindings(draft: Draft, declared: set[str]) -> None:
    enabled = {agent.agent_id: agent.enabled for agent in draft.agents.values()}
    first: dict[str, int] = {}
    channels = (*field_names(Channels), *channel_kinds())
    for number, binding in list(draft.bindings.items()):
        path = ("bindings", number)
        what = f"binding {binding.place}"
        if binding.agent_id not in declared:
            draft.error(  # the binding stays, so that no broader binding answers the chat
                (*path, "agentId"),
                f"{what} names the unknown agent '{binding.agent_id}'"
                + suggestion(binding.agent_id, declared, "add this agent or remove the binding"),
            )
        elif not enabled.get(binding.agent_id, True):
            draft.warn(path, f"{what} leads to the disabled agent '{binding.agent_id}': it refuses")
        if binding.channel not in channels:
            draft.warn(
                (*path, "channel"),
                f'{what} names the unknown channel "{binding.channel}"'
                + suggestion(binding.channel, channels),
            )
        if "*" in binding.chat_id and binding.chat_id != "*":
            draft.warn(
                (*path, "chatId"),
                f'{what} matches no chat; "*" works only alone, so write it or a whole id',
            )
        if binding.place in first:
            line = draft.line("bindings", first[binding.place])
            draft.warn(path, f"{what} never applies, line {line} has the same place; remove one")
        first.setdefault(binding.place, number)


def _fallback(draft: Draft, declared: set[str]) -> None:
    name = draft.fallback_agent_id
    if name is None:
        return
    if name not in declared:
        draft.error(
            ("fallbackAgentId",),
            f"\"fallbackAgentId\" names the unknown agent '{name}'" + suggestion(name, declared),
        )
    valid = {agent.agent_id: agent for agent in draft.agents.values()}
    if name not in valid:
        draft.fallback_agent_id = None
    elif not valid[name].enabled:
        draft.warn(
            ("fallbackAgentId",),
            f"\"fallbackAgentId\" names the disabled agent '{name}': it refuses",
        )


def _reachable(draft: Draft) -> None:
    bound = {binding.agent_id for binding in draft.bindings.values()} | {draft.fallback_agent_id}
    bound |= {hook.agent_id for hook in draft.channels.hook.incoming.values()}
    unbound = [
        agent.agent_id
        for agent in draft.agents.values()
        if agent.enabled and agent.agent_id not in bound and "as_tool" not in agent.model_fields_set
    ]
    if unbound:
        names, rest = ", ".join(unbound[:SHOWN]), len(unbound) - SHOWN
        more = f" and {rest} more" if rest > 0 else ""
        draft.warn(
            (), f"no binding leads to {names}{more}; only senders that name an agent reach it"
        )


def _joined(draft: Draft) -> None:
    for number, agent in draft.agents.items():
        bindings, fallback = draft.bindings.values(), draft.fallback_agent_id
        reasons = openings(agent, bindings, fallback, draft.channels)
        if agent.enabled and agent.memory == "agent" and reasons:
            draft.warn(
                ("agents", number, "memory"),
                f"agent '{agent.agent_id}' has one memory for all chats, and strangers may reach it"
                f" by {', '.join(reasons)}: they read and change what others told it; remove"
                ' "memory", or name each chat in a binding',
                agent.agent_id,
            )


def _servers(draft: Draft) -> None:
    for name, server in draft.mcp_servers.items():
        if server.type is None and (server.url or "").rstrip("/").endswith("/sse"):
            draft.warn(
                ("mcpServers", name, "url"),
                f"MCP server '{name}': the address looks like one of the older transport; set"
                ' "type": "sse", or its streamable HTTP address, often …/mcp',
            )
        place = "command" if server.command else "url"
        stated = "http" if server.type in STREAMABLE else server.type
        if stated is not None and stated not in TRANSPORTS[place]:
            known = " or ".join(f'"{transport}"' for transport in TRANSPORTS[place])
            draft.warn(
                ("mcpServers", name, "type"),
                f"MCP server '{name}': the type \"{server.type}\" is ignored, as it fits no server"
                f' with "{place}"; write {known}, or remove it',
            )
        fields = field_names(McpServer)
        for extra in server.model_extra or {}:
            draft.warn(
                ("mcpServers", name, extra),
                f"MCP server '{name}': the field \"{extra}\" is unknown and ignored"
                + suggestion(extra, fields),
            )


def _programs(draft: Draft, environ: Mapping[str, str]) -> None:
    """Warn of each MCP server whose program is not on this machine."""
    for name, server in draft.mcp_servers.items():
        command = server.command or ""
        path = server.env.get("PATH") or environ.get("PATH")
        in_folder = server.cwd is not None and "/" in command  # a path from there on
        if not command or not server.runs or in_folder or shutil.which(command, path=path):
            continue
        first, *words = command.split()
        advice = "install it or write its whole path"
        if words:
            advice = f'write the program alone, "{first}", and each further word in "args"'
        draft.warn(
            ("mcpServers", name, "command"),
            f"MCP server '{name}': there is no program '{command}' here; {advice}",
        )


def _closed_paths(draft: Draft, home: Path) -> None:
    for name, server in list(draft.mcp_servers.items()):
        if isinstance(server.sandbox, str):
            continue
        for field, path in inside_home(server.sandbox, home):
            draft.error(
                ("mcpServers", name, "sandbox", field),
                f"MCP server '{name}': {path} is in the daemon's home, of which only workspaces can"
                " be opened; choose another folder",
            )
            draft.mcp_servers.pop(name, None)


def _weakened(draft: Draft) -> None:
    """Name what opens the wall between agents."""
    if draft.sandbox == "off":
        draft.warn(
            ("sandbox",),
            '"sandbox" is "off": code in the process of one agent reaches the files of all; '
            "remove the line to close that",
        )
    for name, server in draft.mcp_servers.items():
        if server.command is None:
            if "sandbox" in server.model_fields_set:
                draft.warn(
                    ("mcpServers", name, "sandbox"),
                    f"MCP server '{name}' runs elsewhere: its \"sandbox\" has no effect; remove it",
                )
            continue
        for field, effect in weakenings(server.sandbox):
            draft.warn(
                ("mcpServers", name, "sandbox", *([field] if field else [])),
                f"MCP server '{name}': \"sandbox\" is weakened, {effect}",
            )
    for number, agent in draft.agents.items():
        if agent.hook_network:
            draft.warn(
                ("agents", number, "hookNetwork"),
                f"agent '{agent.agent_id}' has \"hookNetwork\": its hooks can send what they read "
                "to any host",
                agent.agent_id,
            )
        if agent.provenance == "off":
            draft.warn(
                ("agents", number, "provenance"),
                f"agent '{agent.agent_id}' has \"provenance\" off: pages, tools and strangers can "
                "make it send what it knows, and change what it does later",
                agent.agent_id,
            )
