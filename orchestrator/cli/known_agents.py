"""Make sure that the agent of an empty report exists."""

from orchestrator.agentsfile.problems import suggest_name
from orchestrator.cli.options import load_agents
from orchestrator.errors import UnknownAgentError, join_names
from orchestrator.settings import Settings


def require_agent(settings: Settings, name: str) -> None:
    """Require that agents.json has an agent.

    Raises:
        UnknownAgentError: there is no such agent; the message names the nearest one, or some.
    """
    known = [agent.agent_id for agent in load_agents(settings).agents]
    if name not in known:
        file = settings.find_agents_file().name
        hint = suggest_name(name, known, f"{file} has {join_names(known)}")
        raise UnknownAgentError(f"unknown agent {name!r}{hint}")
