"""``orchestrator usage``, from the journal alone."""

import json
import time
from pathlib import Path

import pytest
from fakes.control_server import command
from fakes.journal import job, opened

from orchestrator.errors import ExitCode
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import usage
from orchestrator.journal.turns.usage import Amount
from thinker.protocol.messages import Usage

DAY = 86_400_000


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Calls of two agents today, one of which may or may not have happened, and an older one."""
    monkeypatch.setenv("TZ", "UTC")
    now = time.time_ns() // 1_000_000
    with opened(tmp_path) as db, job(db):
        calls(db, now)
    return tmp_path


def calls(db: Database, now: int) -> None:
    """Fill the ledger."""
    spent = Usage(prompt=1_000, completion=50, cached=250)
    usage.record_usage(db, "work", None, "a/b", spent, 0.5, now)
    usage.record_usage(db, "work", None, "a/b", spent, None, now)
    usage.reserve_amount(db, "work", "t1", "a/b", Amount(700, 0.25), now)
    usage.record_usage(db, "home", None, "a/b", Usage(prompt=8), 0.0, now)
    usage.record_usage(db, "work", None, "a/b", Usage(prompt=9), 0.0, now - 3 * DAY)


def test_days_are_summed_by_agent_with_what_is_not_known(home: Path) -> None:
    """Cache hits are a share of the prompt; calls without a price make the sum unsure."""
    rows = [line.split() for line in command(home, "usage").stdout.splitlines()]
    assert [row[1:] for row in rows if row[1:2] == ["home"]] == [
        ["home", "1", "8", "-", "0", "0.0000"]
    ]
    work = [row[1:] for row in rows if row[1:2] == ["work"]]
    assert work[0][:3] == ["work", "1", "9"]
    totals = ["work", "2", "2,000", "25%", "100", "700", "0.7500", "+", "unknown"]
    assert work[1] == totals
    assert "prices" in command(home, "usage").stdout


def test_one_agent_and_fewer_days_can_be_selected(home: Path) -> None:
    """As JSON, for programs."""
    shown = command(home, "usage", "--agent", "work", "--days", "1", "--json").stdout
    (day,) = json.loads(shown)["days"]
    assert day["agentId"] == "work"
    assert (day["calls"], day["promptTokens"], day["unpricedCalls"]) == (2, 2_000, 1)
    assert json.loads(shown)["timezone"] == "UTC"


def test_day_can_be_divided_by_purpose(home: Path) -> None:
    """Turns, background work, and calls from before purposes were stored."""
    with opened(home) as db, job(db):
        now = time.time_ns() // 1_000_000
        for number, name in enumerate(("t1", "extraction/7", "compaction/7", "embedding/1"), 1):
            usage.record_usage(db, "home", name, "a/b", Usage(prompt=number), 0.0, now)
    shown = command(home, "usage", "--by", "purpose", "--days", "1", "--agent", "home")
    rows = [line.split() for line in shown.stdout.splitlines()]
    assert {" ".join(row[2:-5]): row[-4] for row in rows if row[1:2] == ["home"]} == {
        "not recorded": "8",
        "turn": "1",
        "facts": "2",
        "compaction": "3",
        "embedding": "4",
    }
    listed = command(home, "usage", "--by", "purpose", "--days", "1", "--json").stdout
    assert {day["purpose"] for day in json.loads(listed)["days"] if day["agentId"] == "home"} == {
        None,
        "compaction",
        "embedding",
        "facts",
        "turn",
    }


def test_empty_journal_has_no_usage(home: Path) -> None:
    """An agent that never asked a model; one that does not exist is refused."""
    assert (
        command(home, "usage", "--agent", "assistant").stdout == "no model calls in this period\n"
    )
    unknown = command(home, "usage", "--agent", "asistant")
    assert unknown.exit_code == ExitCode.USAGE
    assert "unknown agent 'asistant'; did you mean \"assistant\"?" in unknown.stderr
