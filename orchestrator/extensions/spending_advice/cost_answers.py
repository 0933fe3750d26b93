"""What the page and commands ask about spending, and what they are answered."""

from typing import Literal, TypeAlias

from pydantic import Field

from orchestrator.control.camel_model import CamelModel
from orchestrator.control.trials import TrialRequest
from orchestrator.extensions.spending_advice.raised_budgets import MAX_EXTENSION

BUDGET_EXTEND = "budget/extend"  # MoreMoney → ExtendedBudget
COSTS_FORECAST = "costs/forecast"  # ForecastQuery → ForecastReport
COSTS_SAVINGS = "costs/savings"  # → SavingsReport

Unit: TypeAlias = Literal["usd", "tokens"]


class MoreMoney(CamelModel):
    """What an agent may spend more today, in US dollars; without a name, all agents together."""

    agent_id: str = ""
    usd: float = Field(gt=0, le=MAX_EXTENSION, allow_inf_nan=False)


class ExtendedBudget(CamelModel):
    """A raised limit, in a sentence; ``paused`` is why the agent does not work yet, if so."""

    text: str
    paused: str = ""


class ForecastQuery(CamelModel):
    """Whose forecast is asked for: of all agents together (no name), or of everyone (None)."""

    agent_id: str | None = None


class ForeseenSum(CamelModel):
    """What a day or month has cost so far, and will have cost at its end, in ``unit``.

    ``error`` is the mean error of such forecasts in this home so far, as a share of the sum; None
    while there are too few days to tell.
    """

    period: Literal["day", "month"]
    unit: Unit
    spent: float
    total: float
    error: float | None = None


class AgentForecast(CamelModel):
    """The forecast of an agent, or of all together (no name).

    ``text`` says it in a sentence, or why it cannot be said; then ``sums`` is empty.
    """

    agent_id: str
    sums: tuple[ForeseenSum, ...] = ()
    text: str


class ForecastReport(CamelModel):
    """The forecasts of all agents together, and then of each."""

    agents: tuple[AgentForecast, ...]


class Saving(CamelModel):
    """A change that would save money, and how far it has been tried on recorded turns.

    ``field`` and ``value`` are what to set for the agent in agents.json. ``month_usd`` is what the
    agent costs in a month, ``saved_usd`` what of it the change would save: None until it was tried.
    ``alike`` of ``tried`` turns had the same calls and a like answer. ``trial`` starts the trial
    (`trial/start`), ``trial_id`` is the newest one that was started.
    """

    agent_id: str
    kind: Literal["model", "layout", "tools"]
    text: str
    field: str
    value: str
    state: Literal["untried", "running", "stopped", "tried"] = "untried"
    month_usd: float
    saved_usd: float | None = None
    tried: int = 0
    alike: int = 0
    trial: TrialRequest
    trial_id: int | None = None


class SavingsReport(CamelModel):
    """The changes that would save most, the largest first; ``note`` says why there are none."""

    savings: tuple[Saving, ...]
    note: str = ""
