"""A budget that is extended until midnight."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.agents_file import parsed
from fakes.journal import job, opened

from orchestrator.agentsfile import AgentsFile
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.spending_advice.raised_budgets import MAX_EXTENSION, extend_budget
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import pauses, usage
from orchestrator.journal.turns.usage import SHARED
from orchestrator.spending.spending_rules import SpendingRules
from thinker.protocol.messages import Usage

HOUR = 3_600_000
EVENING = 1_770_000_000_000 // (24 * HOUR) * 24 * HOUR + 22 * HOUR  # in UTC


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """An empty journal."""
    with opened(tmp_path) as connection:
        yield connection


def rules(now: int = EVENING, **budget: Any) -> SpendingRules:
    """The rules for an agent with a budget, at a time."""
    agent = {"agentId": "work", "llmProvider": "groq", "model": "m", "budget": budget}
    file: AgentsFile = parsed(agent, prices={"groq/m": {"input": 1, "output": 1}}).file
    return SpendingRules(file, {"TZ": "UTC"}, lambda: now, 0)


def spend(db: Database, usd: float, reason: str = "budget") -> None:
    """The agent has spent so much this evening, and is paused."""
    with job(db):
        usage.record_usage(db, "work", None, "groq/m", Usage(prompt=10), usd, EVENING)
        pauses.begin_pause(db, "work", reason, "used up", "budgets", EVENING)


def find_limit(db: Database, made: SpendingRules) -> float | None:
    """The limit in dollars of the first period of the agent."""
    limits, _ = made.list_budgets(db)["work"][0]
    return limits.usd


def test_extended_budget_ends_the_pause_and_itself_at_midnight(db: Database) -> None:
    """The limit that status shows is the higher one until then."""
    spend(db, 0.25)
    made = rules(usdPerDay=0.20)
    with job(db):
        assert extend_budget(db, made, "work", 0.10, "operator") is None
    assert pauses.find_pause(db, "work") is None
    assert find_limit(db, made) == pytest.approx(0.30)
    assert find_limit(db, rules(EVENING + 3 * HOUR, usdPerDay=0.20)) == 0.20
    acts = [act for (act,) in db.execute("SELECT act FROM audit ORDER BY id")]
    assert acts[-2:] == ["may spend $0.1 more today", "resumed"]
    assert audit.find_broken_entry(db) is None


def test_too_small_an_extension_leaves_the_pause_and_adds_up(db: Database) -> None:
    """The reason says how much is missing."""
    spend(db, 0.25)
    made = rules(usdPerDay=0.20)
    with job(db):
        over = extend_budget(db, made, "work", 0.03, "operator")
        assert over is not None
        assert "$0.0000 of $0.2300 are left" in over
        assert extend_budget(db, made, "work", 0.10, "operator") is None


def test_pause_for_another_reason_stays(db: Database) -> None:
    """Money does not help an agent that its operator paused, or without tokens."""
    spend(db, 0.25, "operator")
    with job(db):
        assert extend_budget(db, rules(usdPerDay=0.2), "work", 1, "operator") == "used up"
    assert pauses.find_pause(db, "work") is not None


@pytest.mark.parametrize("budget", [{}, {"tokensPerDay": 100}])
def test_budget_without_dollars_cannot_be_extended(db: Database, budget: dict[str, int]) -> None:
    """There is no limit to raise."""
    with pytest.raises(OrchestratorError, match="no limit in dollars"), job(db):
        extend_budget(db, rules(**budget), "work", 1, "operator")
    with pytest.raises(OrchestratorError, match="no limit in dollars"), job(db):
        extend_budget(db, rules(usdPerDay=1), "home", 1, "operator")


def test_extensions_of_a_day_are_bounded(db: Database) -> None:
    """Nothing is stored of one that is too large."""
    made = rules(usdPerDay=1)
    with job(db):
        extend_budget(db, made, "work", MAX_EXTENSION, "operator")
    with pytest.raises(OrchestratorError, match="more than"), job(db):
        extend_budget(db, made, "work", 0.01, "operator")
    assert find_limit(db, made) == MAX_EXTENSION + 1


def test_extended_shared_budget_lets_all_agents_go_on(db: Database) -> None:
    """One that its operator paused does not, nor one without tokens of its own."""
    agents = [
        {"agentId": name, "llmProvider": "groq", "model": "m", **more}
        for name, more in (("a", {}), ("b", {"budget": {"tokensPerDay": 5}}), ("c", {}))
    ]
    rest: dict[str, Any] = {"prices": {"groq/m": {"input": 1, "output": 1}}}
    file = parsed(*agents, **rest, budget={"usdPerMonth": 0.2}).file
    made = SpendingRules(file, {"TZ": "UTC"}, lambda: EVENING, 0)
    with job(db):
        usage.record_usage(db, "a", None, "groq/m", Usage(prompt=10), 0.25, EVENING)
        for name, kind in (("a", "budget"), ("b", "budget"), ("c", "operator")):
            pauses.begin_pause(db, name, kind, "used up", "budgets", EVENING)
        stays = extend_budget(db, made, SHARED, 0.10, "telegram:7")
    assert "tokensPerDay" in str(stays)
    assert [pause.agent_id for pause in pauses.list_pauses(db)] == ["b", "c"]
    acts = db.execute("SELECT actor, act FROM audit WHERE object = 'shared budget'").fetchall()
    assert acts == [("telegram:7", "may spend $0.1 more today")]
    with pytest.raises(OrchestratorError, match="all agents together have no limit"), job(db):
        extend_budget(db, rules(usdPerDay=1), SHARED, 1, "operator")
