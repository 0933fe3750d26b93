"""Limits and forecasts of a running daemon, and more money until midnight."""

import json
from pathlib import Path

from fakes.control_server import STATUS, ask, serving

from orchestrator.control import protocol
from orchestrator.control.agent_report import AgentReport, BudgetUse
from orchestrator.extensions.spending_advice.cost_answers import (
    BUDGET_EXTEND,
    COSTS_FORECAST,
    AgentForecast,
    ExtendedBudget,
    ForecastReport,
)

USE = BudgetUse(window="Month", tokens=10, usd=1.5, token_limit=1_000, usd_limit=5)
FORECASTS = ForecastReport(agents=(AgentForecast(agent_id="", text="today about $1"),))


async def test_limits_and_forecasts_are_shown(tmp_path: Path) -> None:
    """Those of all agents together first."""
    work = AgentReport(
        agent_id="work",
        state="running",
        pid=1,
        restarts=0,
        provider="demo",
        model="demo",
        budgets=(USE,),
    )
    status = STATUS.model_copy(update={"budgets": (USE,), "agents": (work,)})
    async with serving(tmp_path, {protocol.STATUS: status, COSTS_FORECAST: FORECASTS}):
        rows = [
            line.split() for line in (await ask(tmp_path, "budget", "show")).stdout.splitlines()
        ]
        found = json.loads((await ask(tmp_path, "budget", "show", "--json")).stdout)
    used = ["month", "$1.5000", "of", "$5,", "10", "of", "1,000", "tokens", "30%"]
    assert ["all", "together", *used] in rows
    assert ["all", "together", "today", "about", "$1"] in rows
    assert ["work", *used] in rows
    assert [limit["agentId"] for limit in found["limits"]] == ["", "work"]


async def test_shared_budget_or_that_of_an_agent_is_extended(tmp_path: Path) -> None:
    """What stays paused is told on stderr."""
    done = ExtendedBudget(text="all agents together may spend $2 more", paused="no tokens")
    async with serving(tmp_path, {BUDGET_EXTEND: done}) as server:
        told = await ask(tmp_path, "budget", "extend", "2")
        await ask(tmp_path, "budget", "extend", "2", "work")
        assert server.params(BUDGET_EXTEND) == [
            {"agentId": "", "usd": 2.0},
            {"agentId": "work", "usd": 2.0},
        ]
    assert told.stdout == "all agents together may spend $2 more\n"
    assert "it stays paused: no tokens" in told.stderr
