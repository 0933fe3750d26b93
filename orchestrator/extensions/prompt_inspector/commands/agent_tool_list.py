"""List the tools that a daemon would offer to an agent, without a daemon."""

from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.installed import find_installed
from orchestrator.journal.db.database import Database
from orchestrator.prompts.prompt_set import PromptSet
from orchestrator.settings import Settings
from orchestrator.tools import policy
from orchestrator.tools.host_tools import list_offered_host_tools
from thinker.protocol.messages import ToolSpec


def list_offered_tools(
    db: Database,
    settings: Settings,
    agents: AgentsFile,
    prompts: PromptSet,
    definition: AgentDefinition,
    now: int,
) -> tuple[ToolSpec, ...]:
    """Return the agent's tools, including those that MCP servers last listed."""
    host_tools = prompts.host_tools
    specs = [
        tool.spec
        for extension in find_installed().own.values()
        for tool in extension.find_remembered_tools(
            db, agents, settings.paths, definition.agent_id, host_tools, now
        ).values()
    ]
    specs += [tool.spec for tool in prompts.list_prompt_tools(definition).values()]
    own = list_offered_host_tools(host_tools, definition)
    return own + policy.select_offered_tools(specs, definition)
