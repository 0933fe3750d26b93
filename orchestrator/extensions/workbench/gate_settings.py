"""The gate of an agent in agents.json."""

from pydantic import Field

from orchestrator.agentsfile import ConfigModel
from orchestrator.agentsfile.field_types import AgentId


class GateSettings(ConfigModel):
    """Turns that are tried before an edit of the agent's prompt, skills or model is saved."""

    set: AgentId
    """The set of saved turns; see `orchestrator sets`."""
    at_most: float = Field(gt=0)
    """Dollars that the trial of one edit may cost."""


class GateFields(ConfigModel):
    """The fields that the workbench adds to agents."""

    gate: GateSettings | None = None
    """Saved turns that an edit must not change for the worse; none when absent."""
