"""Say what to do about a tool that a playbook needs and an agent was not offered. Pure."""

from collections.abc import Collection, Iterable, Iterator

from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.tools.policy import SENDING, decide_tool, matches_pattern

MISSING = "agent {agent!r}: {playbook!r} needs the tool {tool!r}, which is not offered; {advice}"
SENT = (
    "a task does without, as its answer goes to its notify chat by itself: remove it from"
    ' "required_tools", or name the chat in "notify_chat_id"'
)
UNUSED = (
    "it is built in, but what it needs is not set up for this agent; change that or the playbook"
)


def list_missing_tools(
    file: AgentsFile, known: Collection[str], missing: Iterable[tuple[str, str, str]]
) -> Iterator[str]:
    """Yield a hint for each agent, playbook and tool that was missing there."""
    for agent, playbook, tool in missing:
        advice = advise_on_tool(file.find_agent(agent), tool, known)
        yield MISSING.format(agent=agent, playbook=playbook, tool=tool, advice=advice)


def advise_on_tool(agent: AgentDefinition | None, tool: str, known: Collection[str]) -> str:
    """Return what to do; ``known`` are the supervisor's tools."""
    decision = decide_tool(tool, agent.allowed_tools, agent.denied_tools) if agent else None
    if decision is not None and not decision.allowed:
        return f"allow it in agents.json ({decision.reason}), or change the playbook"
    if any(matches_pattern(pattern, tool) for pattern in SENDING):
        return SENT
    return UNUSED if tool in known else "add its MCP server, or change the playbook"
