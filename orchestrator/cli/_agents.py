"""Agents that arguments name."""

from orchestrator.agentsfile import load
from orchestrator.agentsfile.problems import suggestion
from orchestrator.cli._options import environment
from orchestrator.errors import UnknownAgentError
from orchestrator.settings import Settings


def require_agent(settings: Settings, name: str) -> None:
    """Make sure that agents.json has an agent.

    Raises:
        UnknownAgentError: it has not; the message names the nearest one, or all.
    """
    path = settings.agents_file()
    known = [agent.agent_id for agent in load(path, environment(settings)).file.agents]
    if name not in known:
        hint = suggestion(name, known, f"{path.name} has {', '.join(known)}")
        raise UnknownAgentError(f"there is no agent {name!r}{hint}")
