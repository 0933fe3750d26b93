"""``orchestrator budget``: limits, forecasts, and more money until midnight."""

from typing import Annotated

import typer

from orchestrator.cli.client import ask_daemon
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.listed_agents import make_status_request
from orchestrator.cli.options import AsJson, Home, load_settings
from orchestrator.cli.output import print_text
from orchestrator.cli.tables import Columns, print_json, print_records
from orchestrator.control import protocol
from orchestrator.control.agent_report import BudgetUse
from orchestrator.control.camel_model import CamelModel
from orchestrator.control.protocol import StatusReport
from orchestrator.extensions.spending_advice.cost_answers import (
    BUDGET_EXTEND,
    COSTS_FORECAST,
    AgentForecast,
    ExtendedBudget,
    ForecastReport,
    MoreMoney,
)
from orchestrator.extensions.spending_advice.raised_budgets import MAX_EXTENSION

ALL = "all together"
app = make_command_group("budget")


class BudgetLine(BudgetUse):
    """A limit in the output of ``budget show``; without a name it is that of all agents."""

    agent_id: str = ""


class BudgetReport(CamelModel):
    """The output of ``budget show --json``: limits with their use, and forecasts."""

    limits: tuple[BudgetLine, ...]
    forecasts: tuple[AgentForecast, ...]


@app.command()
def show(*, as_json: AsJson = False, home: Home = None) -> None:
    """Show what is used of each limit, and what the day and the month will come to."""
    settings = load_settings(home)
    asked = make_status_request("", every=True)
    status = ask_daemon(settings, protocol.STATUS, asked, StatusReport)
    found = ask_daemon(settings, COSTS_FORECAST, None, ForecastReport)
    report = BudgetReport(
        limits=(
            *(BudgetLine(**dict(use)) for use in status.budgets),
            *(
                BudgetLine(**dict(use), agent_id=agent.agent_id)
                for agent in status.agents
                for use in agent.budgets
            ),
        ),
        forecasts=found.agents,
    )
    if as_json:
        print_json(report)
        return
    if not report.limits:
        print_text('no limits are set; "budget" of agents.json limits all agents together')
    print_records("Limits", report.limits, LIMITS)
    print_records("Forecast", report.forecasts, FORECASTS)


@app.command()
def extend(
    usd: Annotated[
        float,
        typer.Argument(metavar="USD", help="Such as 0.10.", min=0.000001, max=MAX_EXTENSION),
    ],
    agent: Annotated[
        str, typer.Argument(metavar="AGENT", help="An agent's id; all together without it.")
    ] = "",
    *,
    home: Home = None,
) -> None:
    """Let all agents together, or one, spend more US dollars until midnight."""
    params = MoreMoney(agent_id=agent, usd=usd)
    print_extension(ask_daemon(load_settings(home), BUDGET_EXTEND, params, ExtendedBudget))


def print_extension(done: ExtendedBudget) -> None:
    """Print what was extended, and why an agent stays paused, if so."""
    print_text(done.text)
    if done.paused:
        print_text(f"it stays paused: {done.paused}", err=True)


def _format_use(line: BudgetLine) -> str:
    parts = []
    if line.usd_limit is not None:
        parts.append(f"${line.usd:.4f} of ${line.usd_limit:g}")
    if line.token_limit is not None:
        parts.append(f"{line.tokens:,} of {line.token_limit:,} tokens")
    return ", ".join(parts)


LIMITS: Columns = {
    "agent": lambda line: line.agent_id or ALL,
    "this": lambda line: line.window.lower(),
    "used": _format_use,
    "share": lambda line: f"{line.share:.0%}",
}
FORECASTS: Columns = {"agent": lambda one: one.agent_id or ALL, "forecast": "text"}
