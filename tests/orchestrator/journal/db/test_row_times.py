"""Where a time begins in a table, before and after an agent's rows moved in."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from fakes.journal import job, opened

from orchestrator.journal.db.database import Connection
from orchestrator.journal.db.row_times import (
    CLEAR,
    find_end_of_rows_before,
    find_first_row_since,
    find_newest_rows,
    note_runs,
)

CALL = """INSERT INTO model_call(id, agent_id, model, state, prompt, completion, cached, at)
  VALUES(?,'work','demo','settled',1,1,0,?)"""


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    """A new journal."""
    with opened(tmp_path) as opened_db:
        yield opened_db


def add_calls(db: Connection, calls: Iterable[tuple[int, int]]) -> None:
    """Store calls by id and hour, as rows that move in."""
    with job(db):
        newest = find_newest_rows(db)
        db.executemany(CALL, [(number, hour * CLEAR) for number, hour in calls])
        note_runs(db, newest)


def find(db: Connection, hour: int) -> tuple[int, int]:
    """The first row since an hour, and the end of those before."""
    at = hour * CLEAR
    with job(db):
        return (
            find_first_row_since(db, "model_call", at),
            find_end_of_rows_before(db, "model_call", at),
        )


def test_time_is_found_in_one_run_whose_rows_have_gaps(db: Connection) -> None:
    """Both searches meet there."""
    assert find(db, 5) == (1, 1)
    add_calls(db, [(1, 10), (2, 20), (7, 30), (8, 40)])
    assert find(db, 5) == (1, 1)
    assert {find(db, 20)[0], find(db, 11)[0]} == {2}
    first, end = find(db, 30)
    assert first == end
    assert 2 < first <= 7
    assert find(db, 41) == (9, 9)


def test_rows_that_moved_in_are_between_the_bounds_of_their_times(db: Connection) -> None:
    """None is left out, though they have the newest ids and old times; twice moved ones too."""
    calls = [(1, 100), (2, 110), (3, 120)]
    add_calls(db, calls)
    arrived = [(4, 10), (5, 105), (6, 20), (7, 119)]
    add_calls(db, arrived)
    own = [(8, 130), (9, 140)]
    with job(db):
        db.executemany(CALL, [(number, hour * CLEAR) for number, hour in own])
    add_calls(db, [(10, 5), (11, 125)])
    everything = [*calls, *arrived, *own, (10, 5), (11, 125)]
    for hour in range(1, 150):
        first, end = find(db, hour)
        assert [number for number, at in everything if at >= hour and number < first] == []
        assert [number for number, at in everything if at < hour and number >= end] == []
    assert find(db, 126) == (8, 12)
    assert find(db, 3) == (1, 1)


def test_runs_whose_rows_were_removed_stop_no_search(db: Connection) -> None:
    """An undone move leaves their beginnings."""
    add_calls(db, [(1, 100), (2, 110)])
    add_calls(db, [(3, 10), (4, 20)])
    with job(db):
        db.execute("DELETE FROM model_call WHERE id > 2")
    assert find(db, 110) == (2, 2)
    with job(db):
        db.execute(CALL, (3, 120 * CLEAR))
    assert find(db, 111) == (3, 3)
