"""Find tools that agents.json names and nothing offers: a misspelt one would not be denied."""

from collections.abc import Iterable, Iterator

from orchestrator.agentsfile import AgentsFile, Problem
from orchestrator.agentsfile.problems import suggestion
from orchestrator.hands.hand_servers import WEB_TOOLS, WORKSPACE_TOOLS
from orchestrator.tools.builtin.catalog import TOOLS
from orchestrator.tools.mcp.mcp_tools import owner
from thinker.formats.prompts.tooluse import INJECTED

FILE = "agents.json"
ADVICE = "add its MCP server or remove it"


def unknown_tools(agents: AgentsFile, prompts: Iterable[str]) -> Iterator[Problem]:
    """Yield a warning for each whole name in an agent's lists of tools that is not known.

    ``prompts`` are the names of definitions, which may be tools too. Patterns are left alone: one
    may be meant for servers to come.
    """
    others = (*prompts, *(agent.agent_id for agent in agents.agents))
    known = {*TOOLS, *WORKSPACE_TOOLS, *WEB_TOOLS, *INJECTED, *others}
    for agent in agents.agents:
        lists = {
            "allowedTools": agent.allowed_tools,
            "deniedTools": agent.denied_tools,
            "approvals": agent.approvals,
        }
        for field, names in lists.items():
            for name in names:
                if "*" not in name and name not in known and not owner(name, agents.mcp_servers):
                    text = f"agent '{agent.agent_id}': \"{field}\" names the unknown tool '{name}'"
                    message = f"{text}{suggestion(name, known, ADVICE)}"
                    yield Problem("warning", FILE, 0, agent.agent_id, field, message)
