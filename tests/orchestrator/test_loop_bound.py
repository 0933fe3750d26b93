"""The debug mode that finds a job of the journal which touches the event loop's objects."""

from contextlib import closing
from pathlib import Path

import pytest
from fakes.journal import store_in

from orchestrator.journal.db.database import Database
from orchestrator.loop_bound import LoopBound, LoopBoundError


class Calls(LoopBound):
    """Calls that run now, as the loop keeps them."""

    def __init__(self) -> None:
        self._pending = {"one": 1}
        self.limit = 7

    def running(self, db: Database) -> list[str]:
        """Return their names: the mistake that this finds."""
        del db
        return list(self._pending)

    def end(self, db: Database) -> None:
        """Write an attribute, which the loop may have read before."""
        del db
        self.limit = 0


async def test_job_that_touches_what_the_loop_changes_fails(tmp_path: Path) -> None:
    """The loop itself may."""
    calls = Calls()
    with closing(store_in(tmp_path)) as store:
        with pytest.raises(LoopBoundError, match=r"Calls\._pending"):
            await store.transact(calls.running)
        with pytest.raises(LoopBoundError, match=r"Calls\.limit"):
            await store.transact(calls.end)
        assert await store.transact(_names, frozenset(calls._pending)) == ["one"]
    assert calls.limit == 7
    assert list(calls._pending) == ["one"]


def _names(db: Database, running: frozenset[str]) -> list[str]:
    del db
    return list(running)
