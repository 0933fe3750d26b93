"""What filters of turns mean."""

from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from fakes.journal import booted, next_turn, planned, receive, update

from orchestrator.extensions.page.html.figures import ENDS
from orchestrator.extensions.page.reads import turn_filters
from orchestrator.extensions.page.reads.turn_filters import UNANSWERED, parse_turn_query
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect.turn_search import search_turns

UTC = ZoneInfo("UTC")
DAY = 86_400_000
NOW = 400 * DAY + 3_600_000


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """Turns that ended in all ways, until the end of the test."""
    with booted(tmp_path) as db:
        ends = (
            ("answered", "closed", "done"),
            ("replied", "replied", None),
            ("failed", "failed", "model_error"),
            ("silent", "closed", "max_steps"),
            ("stopped", "cancelled", "cancelled"),
            ("running", "running", None),
        )
        for number, (name, _, _) in enumerate(ends, 1):
            receive(db, update(number, chat_id=str(number)))
            assert next_turn(db, name, str(number))
        db.execute("BEGIN")
        for number, change in enumerate(ends, 1):
            db.execute(
                "UPDATE turn SET state = ?2, stop_reason = ?3, started_at = ?4 WHERE id = ?1",
                (*change, NOW - number * 7 * 3_600_000),
            )
        yield db
        db.execute("ROLLBACK")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"state": "answered"}, {"answered", "replied"}),
        ({"state": UNANSWERED}, {"failed", "silent"}),
        ({"state": "the model failed"}, {"failed"}),
        ({"state": "no model was asked"}, {"failed"}),
        ({"state": "too many steps"}, {"silent"}),
        ({"state": "stopped"}, {"stopped"}),
        ({"state": "running"}, {"running"}),
        ({"state": "closed"}, {"answered", "silent"}),
        ({"day": "today"}, set()),
        ({"day": "yesterday"}, {"answered", "replied", "failed"}),
        ({"day": "1971-02-04"}, {"answered", "replied", "failed"}),
        (
            {"day": turn_filters.WEEK},
            {"answered", "replied", "failed", "silent", "stopped", "running"},
        ),
    ],
)
def test_filters_take_the_words_of_the_screen(
    db: Database, query: dict[str, str], found: set[str]
) -> None:
    """And those of the journal, which older links have."""
    wanted = parse_turn_query(query, UTC, NOW)
    assert wanted.problems == {}
    page = search_turns(db, wanted.wanted, also=wanted.also)
    assert {turn.id for turn in page.turns} == found


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"longer": "abc"}, "“abc” is no number of seconds; write for example 5 or 2.5."),
        ({"dearer": "nan"}, "“nan” is no amount in dollars; write for example 0.05."),
        ({"day": "soon"}, "“soon” is no day; write for example 2026-01-31, today or yesterday."),
    ],
)
def test_wrong_value_is_told_and_left_out(query: dict[str, str], said: str) -> None:
    """All other filters still count."""
    found = parse_turn_query({**query, "agent": "home"}, UTC, NOW)
    assert list(found.problems.values()) == [said]
    assert dict(found.wanted) == {"agent": "home"}
    assert found.also == []


def test_number_may_have_a_comma() -> None:
    """As people write it in many countries."""
    assert parse_turn_query({"longer": "2,5"}, UTC, NOW).wanted == {"longer": "2.5"}


def test_words_of_all_ends_lead_back_to_them() -> None:
    """No two have the same."""
    assert len(set(ENDS.values())) == len(ENDS)
    for end, words in ENDS.items():
        assert parse_turn_query({"state": words}, UTC, NOW).wanted == {"state": end}


def test_choices_are_what_the_turns_have(tmp_path: Path) -> None:
    """Tools that were called."""
    with booted(tmp_path) as db:
        receive(db, update(1))
        assert next_turn(db, "t1")
        planned(db, "t1", "read")
        assert turn_filters.list_turn_choices(db).tools == ["read"]
