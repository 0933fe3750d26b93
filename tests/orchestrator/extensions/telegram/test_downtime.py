"""A long downtime is reported to the operator."""

from pathlib import Path

import anyio
import pytest
from fakes.journal import store_in
from fakes.time_limit import time_limit

from orchestrator.extensions.telegram.downtime import HOUR, UPDATE_LIFETIME, DowntimeMonitor
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store


def noted(db: Database) -> str | None:
    """Return when the daemon was last alive."""
    found = db.execute("SELECT v FROM meta WHERE k = 'alive_at'").get
    return None if found is None else str(found)


async def hints(store: Store, now: int) -> tuple[str, ...]:
    """Return the hints of a daemon that starts at ``now``."""
    downtime = DowntimeMonitor(store, lambda: now)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(downtime.run)
        with time_limit():
            while await store.transact(noted) != str(now):
                await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    return downtime.hints


@pytest.mark.parametrize(
    ("away", "reported"), [(0, False), (UPDATE_LIFETIME, False), (UPDATE_LIFETIME + 2 * HOUR, True)]
)
async def test_downtime_beyond_what_telegram_keeps_is_reported(
    tmp_path: Path, away: int, *, reported: bool
) -> None:
    """With its length (F59); a new journal has none."""
    store = store_in(tmp_path)
    assert await hints(store, HOUR) == ()
    found = await hints(store, HOUR + away)
    store.close()
    assert bool(found) == reported
    assert all("down for 26 hours" in hint for hint in found)
