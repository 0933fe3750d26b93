"""The forecasts of a home, from its journal."""

from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from fakes.journal import job, opened

from orchestrator.extensions.spending_advice.outlook import find_periods, foresee_use
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import usage
from orchestrator.journal.turns.usage import SHARED
from thinker.protocol.messages import Usage

NOON = 1_770_897_600_000  # 2026-02-12 12:00 UTC
HOUR = 3_600_000
DAY = 24 * HOUR
UTC = ZoneInfo("UTC")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """An empty journal."""
    with opened(tmp_path) as connection:
        yield connection


def use_hourly(db: Database, agent_id: str, usd: float | None, days: int) -> None:
    """An agent has used the same in each hour of so many days."""
    with job(db):
        for hour in range(days * 24):
            at = NOON - hour * HOUR - 1
            usage.record_usage(db, agent_id, None, "a/b", Usage(prompt=1_000), usd, at)


def test_forecast_says_day_month_and_its_error(db: Database) -> None:
    """Of an agent, and of all together."""
    use_hourly(db, "work", 0.01, 40)
    use_hourly(db, "home", 0.02, 40)
    text = "today about $0.{} (± 1 %), this month about ${} (± 1 %)"
    assert foresee_use(db, "work", NOON, UTC).text == text.format("24", "6.72")
    assert foresee_use(db, SHARED, NOON, UTC).text == text.format("72", "20.16")


def test_tokens_are_foreseen_where_nothing_has_a_price(db: Database) -> None:
    """A model of one's own costs nothing, and has limits all the same."""
    use_hourly(db, "work", None, 40)
    found = foresee_use(db, "work", NOON, UTC)
    assert [one.unit for one in found.sums] == ["tokens", "tokens"]
    assert found.text.startswith("today about 24,000 tokens (± 1 %)")


def test_home_without_a_week_of_use_hears_why_there_is_no_forecast(db: Database) -> None:
    """There is no figure to misread."""
    use_hourly(db, "work", 0.01, 6)
    assert foresee_use(db, SHARED, NOON, UTC).sums == ()
    assert foresee_use(db, SHARED, NOON, UTC).text == "no forecast yet: it needs a week of use"


def test_day_with_a_change_of_clocks_ends_at_midnight() -> None:
    """It has 23 hours in spring."""
    spring = find_periods(1_774_774_800_000, ZoneInfo("Europe/Berlin")).day  # 2026-03-29
    assert spring.until - spring.since == 23 * HOUR
