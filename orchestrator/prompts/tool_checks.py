"""Find tools that agents.json names and nothing offers: a misspelt one would not be denied.

And models that an agent cannot use, because its tool is denied.
"""

from collections.abc import Iterable, Iterator

from orchestrator.agentsfile import AgentsFile, Problem
from orchestrator.agentsfile.problems import suggestion
from orchestrator.hands.hand_servers import WEB_TOOLS, WORKSPACE_TOOLS
from orchestrator.tools.builtin.catalog import DRAW, TOOLS
from orchestrator.tools.mcp.mcp_tools import owner
from orchestrator.tools.policy import allowed
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


def unused_models(agents: AgentsFile) -> Iterator[Problem]:
    """Yield a warning for each agent with a model that draws, but without the tool to ask it."""
    for agent in agents.agents:
        if agent.images is None or allowed(DRAW, agent.allowed_tools, agent.denied_tools):
            continue
        field = "allowedTools" if allowed(DRAW, (), agent.denied_tools) else "deniedTools"
        text = (
            f'agent \'{agent.agent_id}\' has "images", but its "{field}" keeps {DRAW} from it, so'
            ' it draws nothing; allow this tool or remove "images"'
        )
        yield Problem("warning", FILE, 0, agent.agent_id, field, text)
