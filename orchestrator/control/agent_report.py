"""What the daemon tells of its agents, and of which ones it is asked to tell."""

from pydantic import Field

from orchestrator.control.camel_model import CamelModel

MOST_AGENTS = 50  # in a report, unless more are asked for


class StatusRequest(CamelModel):
    """Which agents a report lists: those whose id matches the glob, at most so many.

    Those that need attention come first if some are left out.
    """

    agents: str = "*"
    most: int = Field(MOST_AGENTS, ge=0)


class WorkerCounts(CamelModel):
    """How many workers live, how many may, and how many agents wait for a place or their start."""

    live: int
    limit: int
    waiting: int


class BudgetUse(CamelModel):
    """The use of a limit, by an agent or by all, and its period: ``Hour``, ``Day`` or ``Month``.

    An hour is the last 60 minutes. None means no limit.
    """

    window: str
    tokens: int
    usd: float
    token_limit: int | None
    usd_limit: float | None

    @property
    def share(self) -> float:
        """The used share of the tighter limit; 1 when it is used up."""
        parts = ((self.tokens, self.token_limit), (self.usd, self.usd_limit))
        return max((used / limit for used, limit in parts if limit), default=1.0)


class AgentReport(CamelModel):
    """One agent in `orchestrator status`."""

    agent_id: str
    state: str
    pid: int | None
    restarts: int
    provider: str
    model: str
    parent: str = ""  # whose subagent it is
    memory: str = ""  # "agent": one for all chats; "person": one each
    reason: str = ""  # why it is not running, if something is wrong
    paused: str = ""  # why its messages wait, if they do
    window: str = ""  # tokens that its model reads at once, and where that is known from
    lacking: tuple[str, ...] = ()  # what its turns of the last day did without
    budgets: tuple[BudgetUse, ...] = ()


def name_model(provider: str, model: str) -> str:
    """Return what people call a model: its provider and name, once where both are the same."""
    return provider if provider == model else f"{provider} {model}".strip()
