"""Two sessions that change one journal in PostgreSQL at the same time."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from fakes.journal import job
from fakes.postgresql import connect_to, database_of

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import turns

WAITS = """SELECT count(*) FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock'"""
T = TypeVar("T")


class TwoWriters:
    """A journal in PostgreSQL that two sessions write."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.db, self.other = connect_to(address), connect_to(address)

    def overlap(self, first: Callable[[Database], object], second: Callable[[Database], T]) -> T:
        """Store the first change once the second one, in the other session, waits for it."""

        def change() -> T:
            with job(self.other):
                return second(self.other)

        with ThreadPoolExecutor(1) as thread, closing(connect_to(self.address)) as watch:
            with job(self.db):
                first(self.db)
                changed = thread.submit(change)
                while not watch.execute(WAITS).get:
                    assert not changed.done()
            return changed.result()


@contextmanager
def two_writers(folder: Path) -> Iterator[TwoWriters]:
    """The journal of a folder, under its first epoch."""
    both = TwoWriters(database_of(folder))
    with closing(both.db), closing(both.other):
        with job(both.db):
            turns.boot(both.db, 0)
        yield both
