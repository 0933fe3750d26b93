"""The section ``extensions.almanac`` of agents.json."""

from orchestrator.agentsfile import ConfigModel


class AlmanacSettings(ConfigModel):
    """Each field needs a default; `orchestrator check` refuses other fields and types."""

    greeting: str = "Look up at night"
    """How the hint in `orchestrator status` begins."""
