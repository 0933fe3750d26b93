"""Find tool names in agents.json that a connected server does not have."""

from collections.abc import Iterable, Iterator, Mapping

from orchestrator.agentsfile import AgentsFile, Problem
from orchestrator.agentsfile.problems import suggest_name
from orchestrator.tools.remote_tools import RemoteTools, find_owner

FILE = "agents.json"


def list_served_tools(agents: AgentsFile, servers: RemoteTools) -> dict[str, str]:
    """Return the servers of all tools that are known now, keyed by the tools' names for models."""
    found = {name: place.partition("/")[0] for name, place in servers.list_withheld_tools().items()}
    for agent in agents.agents if servers.list_states() else ():
        tools = servers.list_agent_tools(agent.configured_id)
        found |= {name: tool.server for name, tool in tools.items()}
    return found


def check_served_names(agents: AgentsFile, served: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a warning for each name in an agent's lists that its server gave no tool.

    ``served`` is as `list_served_tools` returns it. A server without any is not connected yet, so
    its tools are not known.
    """
    listed = {server for server in agents.mcp_servers if server in served.values()}
    for agent in agents.agents:
        lists: Mapping[str, Iterable[str]] = {
            "allowedTools": agent.allowed_tools,
            "deniedTools": agent.denied_tools,
            "approvals": agent.approvals,
        }
        for field, names in lists.items():
            for name in names:
                owner = find_owner(name, agents.mcp_servers)
                if "*" in name or name in served or owner not in listed:
                    continue
                near = [tool for tool, server in served.items() if server == owner]
                text = f"agent '{agent.agent_id}': \"{field}\" names '{name}', but no tool of the"
                message = f"{text} server '{owner}' is called that{suggest_name(name, near)}"
                yield Problem("warning", FILE, 0, agent.agent_id, message, path=field)
