"""Costs by day."""

from dataclasses import replace
from datetime import date
from pathlib import Path

from fakes.page import NOW, page_bench
from fakes.screens import html, request

from orchestrator.control.agent_report import AgentReport, BudgetUse
from orchestrator.extensions.page.reads.spending_days import SpendingSlot
from orchestrator.extensions.page.screens import expenses
from orchestrator.extensions.page.screens.expense_periods import Days, Period
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import usage
from thinker.protocol.messages import Usage

DAY = 86_400_000
SLOT = SpendingSlot(0, "home", "big", "turn", 2, 1000, 500, 10, 0.5, 0, 0)
OTHER = SpendingSlot(DAY, "work", "small", "facts", 1, 100, 0, 5, 0.0, 1, 1)
TWO_DAYS = Days(date(1970, 1, 1), date(1970, 1, 2))
LIMIT = BudgetUse(window="Day", tokens=0, usd=0.08, token_limit=None, usd_limit=0.2)
HOME = AgentReport(
    agent_id="home",
    state="running",
    pid=1,
    restarts=0,
    provider="groq",
    model="big",
    budgets=(LIMIT,),
)


def page(*slots: SpendingSlot, days: Days = TWO_DAYS, agent: str = "") -> str:
    """The screen of a period."""
    asked = request(agent=agent)
    return html(expenses.render_costs(asked, Period(days, slots), (HOME,)).content)


def test_sums_are_by_day_and_by_what_was_asked_for() -> None:
    """With what is unknown, what was lost, and a pace."""
    shown = page(SLOT, OTHER)
    assert "$0.5000 and 1\u202f115 tokens from 1970-01-01 to 1970-01-02 (UTC)" in shown
    assert "1 call without a known price" in shown
    assert "a month costs" not in shown  # two days tell no pace
    week = page(SLOT, OTHER, days=Days(date(1970, 1, 1), date(1970, 1, 10)))
    assert "At this pace a month costs $1.50." in week
    assert "1 call cut off" in shown
    assert "01 Jan: home $0.50" in shown
    assert "$0.00 + 1 unknown" in shown
    asked = request(by="purpose", **{"in": "tokens"})
    by = html(expenses.render_costs(asked, Period(TWO_DAYS, [SLOT, OTHER])).content)
    assert "02 Jan: facts 105" in by


def test_costs_of_one_agent_have_its_limit_as_a_line() -> None:
    """The line would mean nothing beside an agent without a limit."""
    shown = page(SLOT, OTHER, agent="home")
    assert "limit of $0.20 a day" in shown
    assert "work" not in shown.partition("By agent")[2]
    other = HOME.model_copy(update={"agent_id": "work", "budgets": ()})
    found = Period(TWO_DAYS, [SLOT])
    both = html(expenses.render_costs(request(), found, (HOME, other)).content)
    assert "limit of" not in both


def test_costs_are_compared_with_the_days_before() -> None:
    """As a share, and for each agent."""
    found = Period(TWO_DAYS, [SLOT], [replace(SLOT, usd=0.25)])
    shown = html(expenses.render_costs(request(), found).content)
    assert "100 % more than in the 2 days before ($0.2500)." in shown


def test_time_without_calls_is_a_sentence() -> None:
    """Not an empty plot; nor are calls that cost nothing."""
    assert "No model calls in this period." in page()
    assert "1 call without costs, or without a known price." in page(OTHER)


def test_wrong_date_is_told() -> None:
    """With an example of a right one."""
    wrong = Days(date(2026, 1, 1), date(2026, 1, 2), problem="“x” is no day")
    assert "“x” is no day" in page(days=wrong)


def test_links_keep_what_was_chosen() -> None:
    """The agent and the days, also in the file and where dollars say nothing."""
    asked = request(agent="work", by="model")
    free = html(expenses.render_costs(asked, Period(TWO_DAYS, [SLOT, OTHER])).content)
    assert "/costs.csv?agent=work&amp;from=1970-01-01&amp;to=1970-01-02" in free
    tokens = "/costs?agent=work&amp;by=model&amp;in=tokens&amp;from=1970-01-01&amp;to=1970-01-02"
    assert tokens in free


async def test_file_has_the_numbers_of_the_screen(tmp_path: Path) -> None:
    """Those of one agent, where one was chosen."""
    async with page_bench(tmp_path) as bench:
        await bench.store.transact(_ask_models)
        person = await bench.login()
        text = (await person.get("/costs.csv?agent=work")).text
        assert "work" in text
        assert "home" not in text


def _ask_models(db: Database) -> None:
    for agent in ("home", "work"):
        usage.record_usage(db, agent, "t1", "m", Usage(prompt=5, completion=2), None, NOW)
