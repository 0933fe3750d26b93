"""Find tool names in agents.json that no tool has: a misspelt one would not be denied."""

from collections.abc import Iterable, Iterator, Mapping

from orchestrator.agentsfile import AgentsFile, Problem
from orchestrator.agentsfile.problems import suggest_name
from orchestrator.tools.builtin.host_tool import HostTool
from orchestrator.tools.remote_tools import find_owner
from orchestrator.tools.tool_server import list_servable_tools
from thinker.formats.prompts.tooluse import INJECTED

FILE = "agents.json"
ADVICE = "add its MCP server or remove it"


def check_tool_names(
    agents: AgentsFile, host_tools: Mapping[str, HostTool], prompts: Iterable[str]
) -> Iterator[Problem]:
    """Yield a warning for each unknown tool name in an agent's lists.

    Patterns are not checked: they may be meant for future servers. ``prompts`` are the names of
    definitions, which may be tools too.
    """
    others = (*prompts, *(agent.agent_id for agent in agents.agents))
    known = {*host_tools, *list_servable_tools(agents), *INJECTED, *others}
    for agent in agents.agents:
        lists = {
            "allowedTools": agent.allowed_tools,
            "deniedTools": agent.denied_tools,
            "approvals": agent.approvals,
        }
        for field, names in lists.items():
            for name in names:
                if (
                    "*" not in name
                    and name not in known
                    and not find_owner(name, agents.mcp_servers)
                ):
                    text = f"agent '{agent.agent_id}': \"{field}\" names the unknown tool '{name}'"
                    message = f"{text}{suggest_name(name, known, ADVICE)}"
                    yield Problem("warning", FILE, 0, agent.agent_id, message, path=field)
