"""Compare two versions of agents.json, for live reload."""

from dataclasses import dataclass

from orchestrator.agentsfile.agents_file import AgentsFile


@dataclass(frozen=True)
class AgentsDiff:
    """Agent ids by kind of change; a disabled agent counts as absent."""

    added: frozenset[str]
    removed: frozenset[str]
    changed: frozenset[str]
    unchanged: frozenset[str]


def diff(old: AgentsFile, new: AgentsFile) -> AgentsDiff:
    before = {agent.agent_id: agent for agent in old.agents if agent.enabled}
    after = {agent.agent_id: agent for agent in new.agents if agent.enabled}
    kept = before.keys() & after.keys()
    changed = frozenset(name for name in kept if before[name] != after[name])
    return AgentsDiff(
        added=frozenset(after.keys() - kept),
        removed=frozenset(before.keys() - kept),
        changed=changed,
        unchanged=frozenset(kept - changed),
    )
