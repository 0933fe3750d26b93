"""A budget that is extended for a day: by whom, how far, and until when."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.agents_file import parsed
from fakes.journal import job, opened

from orchestrator.agentsfile import AgentsFile
from orchestrator.errors import OrchestratorError
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import pauses, usage
from orchestrator.spending.spending_rules import MAX_EXTENSION, SpendingRules
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
        assert made.extend_budget(db, "work", 0.10, "operator") is None
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
        over = made.extend_budget(db, "work", 0.03, "operator")
        assert over is not None
        assert "0.2500 of 0.2300" in over
        assert made.extend_budget(db, "work", 0.10, "operator") is None


def test_pause_for_another_reason_stays(db: Database) -> None:
    """Money does not help an agent that its operator paused, or without tokens."""
    spend(db, 0.25, "operator")
    with job(db):
        assert rules(usdPerDay=0.2).extend_budget(db, "work", 1, "operator") == "used up"
    assert pauses.find_pause(db, "work") is not None


@pytest.mark.parametrize("budget", [{}, {"tokensPerDay": 100}])
def test_budget_without_dollars_cannot_be_extended(db: Database, budget: dict[str, int]) -> None:
    """There is no limit to raise."""
    with pytest.raises(OrchestratorError, match="no limit in dollars"), job(db):
        rules(**budget).extend_budget(db, "work", 1, "operator")
    with pytest.raises(OrchestratorError, match="no limit in dollars"), job(db):
        rules(usdPerDay=1).extend_budget(db, "home", 1, "operator")


def test_extensions_of_a_day_are_bounded(db: Database) -> None:
    """Nothing is stored of one that is too large."""
    made = rules(usdPerDay=1)
    with job(db):
        made.extend_budget(db, "work", MAX_EXTENSION, "operator")
    with pytest.raises(OrchestratorError, match="more than"), job(db):
        made.extend_budget(db, "work", 0.01, "operator")
    assert find_limit(db, made) == MAX_EXTENSION + 1
