"""The budget that all agents share: who reserves in it, what it stops, and when that ends."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.agents_file import parsed
from fakes.journal import CLASSES, job, opened, receive, sqlite, step, update

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import inbox, pauses, steps, turns, usage
from orchestrator.journal.turns.turns import Turn, TurnAdmission
from orchestrator.journal.turns.usage import SHARED, Amount
from orchestrator.spending.spending_rules import SpendingRules
from thinker.protocol.background import MeteredResult
from thinker.protocol.messages import Usage

NOON = 1_770_000_000_000
PRICES = {"groq/m": {"input": 1, "output": 5}}
NAMES = ("a", "b", "c", "d", "e")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal of a first process."""
    with opened(tmp_path) as connection:
        with job(connection):
            turns.boot(connection, 0)
        yield connection


def rules(now: int = NOON, own: dict[str, Any] | None = None, **shared: Any) -> SpendingRules:
    """The rules of five agents with a budget of their own each, and one of all."""
    agents = [{"agentId": name, "llmProvider": "groq", "model": "m"} for name in NAMES]
    rest: dict[str, Any] = {"prices": PRICES, "budget": shared}
    loaded = parsed(*({**one, "budget": own} if own else one for one in agents), **rest)
    assert not loaded.errors
    return SpendingRules(loaded.file, {"TZ": "UTC"}, lambda: now, 0)


class Runaway:
    """An agent whose turn calls a tool for ever, each time with a longer conversation."""

    def __init__(self, db: Database, made: SpendingRules, number: int, tokens: int) -> None:
        self.db, self.rules, self.tokens = db, made, tokens
        agent_id = NAMES[number]
        receive(db, update(number + 1, chat_id=str(number)))
        row = inbox.find_oldest_new(db, f"telegram/1/{number}/")
        assert row is not None
        self.turn: Turn | None = None
        with job(db):
            if made.enforce_admission_limits(db, agent_id, row) is None:
                admission = TurnAdmission(f"t{number}", agent_id, 1, 15, "1")
                self.turn = turns.admit_message(db, row, admission, NOON)
                assert self.turn is not None
                made.reserve_first_call(db, self.turn)

    def settle(self, growth: int) -> bool:
        """The call in flight ends; return whether the next one is made."""
        assert self.turn is not None
        used = Usage(prompt=self.tokens, completion=self.tokens // 10)
        commit = step(self.turn.id, "read").model_copy(update={"usage": used, "model": "groq/m"})
        self.tokens += growth
        with job(self.db):
            planned = steps.plan(self.db, commit, CLASSES, 1, NOON)
            pause, _ = self.rules.settle_step(self.db, self.turn, commit, planned.seq, NOON)
        return pause is None


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("limit", [{"tokensPerMonth": 400_000}, {"usdPerDay": 0.5}])
def test_runaway_over_five_agents_passes_the_shared_budget_by_at_most_one_call(
    db: Database, limit: dict[str, Any], seed: int
) -> None:
    """However their calls interleave; each of them ends up paused, and says by which budget."""
    chance = random.Random(seed)  # noqa: S311 - repeatable
    made = rules(**limit)
    flying = [Runaway(db, made, number, chance.randint(2_000, 9_000)) for number in range(5)]
    while flying:
        one = chance.choice(flying)
        if not one.settle(chance.randint(0, 900)):
            flying.remove(one)
    spent = usage.sum_spending(db, SHARED, 0)
    (largest,) = db.execute("SELECT max(prompt + completion), max(usd) FROM model_call")
    if "usdPerDay" in limit:
        assert 0.3 < spent.usd <= 0.5 + largest[1]
    else:
        assert 350_000 < spent.tokens <= 400_000 + largest[0]
    found = pauses.list_pauses(db)
    assert [pause.agent_id for pause in found] == [*NAMES]
    assert all(f"of the shared budget {next(iter(limit))}" in pause.reason for pause in found)


def test_work_outside_of_turns_counts_and_an_agent_without_use_is_stopped_as_well(
    db: Database,
) -> None:
    """One budget for everything."""
    made = rules(tokensPerDay=10_000)
    with job(db):
        assert made.reserve_work(db, "a", "extraction/1", 6_000)
        assert not made.reserve_work(db, "b", "extraction/2", 6_000)
        result = MeteredResult(model="groq/m", usage=Usage(prompt=3_000))
        made.settle_work(db, "a", "extraction/1", result)
        assert made.reserve_work(db, "b", "extraction/2", 6_000)


def test_own_and_shared_budget_hold_both(db: Database) -> None:
    """The one that is used up first stops the agent."""
    made = rules(own={"tokensPerDay": 5_000}, tokensPerDay=8_000)
    with job(db):
        assert not made.reserve_work(db, "a", "extraction/1", 5_001)
        assert made.reserve_work(db, "a", "extraction/1", 5_000)
        assert not made.reserve_work(db, "b", "extraction/2", 3_001)
        assert made.reserve_work(db, "b", "extraction/2", 3_000)
    found = made.list_budgets(db)
    assert [(limits.tokens, spent.tokens) for limits, spent in found[SHARED]] == [(8_000, 8_000)]
    assert [(limits.tokens, spent.tokens) for limits, spent in found["b"]] == [(5_000, 3_000)]


def test_pause_by_the_shared_budget_ends_by_itself_the_next_day(db: Database) -> None:
    """A person who resumes it before hears which budget is used up."""
    made = rules(tokensPerDay=8_000)
    assert not Runaway(db, made, 0, 7_000).settle(0)
    assert made.lift_pauses(db)[0] is False
    assert "shared budget" in str(made.resume_agent(db, "a", "operator"))
    assert rules(NOON + 86_400_000, tokensPerDay=8_000).lift_pauses(db)[0] is True
    assert pauses.list_pauses(db) == []


def test_agent_without_a_budget_of_its_own_is_limited_by_the_shared_one() -> None:
    """So that its calls are checked at all."""
    made, free = rules(usdPerMonth=5), rules()
    agent = made.agents.find_agent("a")
    assert not made.is_unlimited(agent)
    assert not SpendingRules(free.agents, {}, free.clock, 0).is_unlimited(None)


def test_sum_of_all_agents_reads_the_index_of_their_windows_alone(tmp_path: Path) -> None:
    """It seeks each agent and then reads the window's rows, without the table."""
    with sqlite(tmp_path) as db:
        for number in range(300):
            usage.record_usage(db, f"a{number % 3}", None, "m", Usage(prompt=1), 0.5, number)
        assert usage.sum_spending(db, SHARED, 290) == Amount(10, 5.0)
        sql = f"EXPLAIN QUERY PLAN {usage.SUM_OF_ALL}"
        plan = [str(row[3]) for row in db.execute(sql, (290,))]
    assert any(
        "USING COVERING INDEX model_call_window (agent_id=? AND at>?)" in one for one in plan
    )
    assert not any(one == "SCAN model_call" for one in plan)
