"""Which agent may use which tool, and the rule of agents.json that decides it."""

from collections.abc import Iterable, Iterator, Mapping

from orchestrator.agentsfile import AgentDefinition
from orchestrator.control.operations import DaemonOperations
from orchestrator.extensions.page.daemon_side.page_protocol import (
    ListedTool,
    ToolRule,
    ToolRuleTable,
)
from orchestrator.tools.policy import decide_tool, needs_approval
from orchestrator.tools.remote_tools import RemoteTool
from thinker.protocol.messages import ToolSpec

BUILT_IN = ""  # the server of a tool of the supervisor itself


def list_tool_rules(operations: DaemonOperations) -> ToolRuleTable:
    """Return the tools that are known now, with the rule for each agent that could have them."""
    configuration, servers = operations.configuration, operations.servers
    own = {name: tool.spec for name, tool in configuration.prompts.current_set.host_tools.items()}
    agents = configuration.file.agents
    served = {agent.agent_id: servers.list_agent_tools(agent.configured_id) for agent in agents}
    return build_tool_table(agents, own, served)


def build_tool_table(
    agents: Iterable[AgentDefinition],
    own: Mapping[str, ToolSpec],
    served: Mapping[str, Mapping[str, RemoteTool]],
) -> ToolRuleTable:
    """Join tools and agents; ``served`` are the tools of servers, by agent."""
    tools = {name: _describe_tool(spec, BUILT_IN) for name, spec in own.items()}
    rules: list[ToolRule] = []
    for agent in agents:
        offered = served.get(agent.agent_id, {})
        for name, tool in offered.items():
            tools.setdefault(name, _describe_tool(tool.spec, tool.server))
        rules += _list_rules(agent, (*own, *offered))
    return ToolRuleTable(tools=tuple(tools.values()), rules=tuple(rules))


def _list_rules(agent: AgentDefinition, names: Iterable[str]) -> Iterator[ToolRule]:
    for name in dict.fromkeys(names):
        found = decide_tool(name, agent.allowed_tools, agent.denied_tools)
        yield ToolRule(
            agent_id=agent.agent_id,
            tool=name,
            allowed=found.allowed,
            reason=found.reason,
            asks=found.allowed and needs_approval(name, agent.approvals),
        )


def _describe_tool(spec: ToolSpec, server: str) -> ListedTool:
    return ListedTool(
        name=spec.name,
        server=server,
        description=spec.description,
        parameters=spec.parameters,
        effect=spec.side_effect.value,
    )
