"""The deletion of what was forgotten."""

from pathlib import Path

import anyio
import pytest
from fakes.background_work import NOON, background
from fakes.journal import job
from fakes.memory import WORK
from fakes.statements import store_fact

from orchestrator.extensions.memory import fact_changes
from orchestrator.extensions.memory.fact_changes import DAY
from orchestrator.extensions.memory.fact_purge import purge_forgotten_facts

pytestmark = pytest.mark.usefixtures("reads")


async def test_forgotten_facts_are_deleted_a_day_later(tmp_path: Path) -> None:
    """Until then they can be restored."""
    async with background(tmp_path) as bench, anyio.create_task_group() as tasks:
        with job(bench.db):
            for number, forgotten in enumerate((NOON - DAY, NOON - DAY + 1)):
                fact = store_fact(bench.db, WORK, f"Fact {number}.", now=1)
                fact_changes.forget_fact(bench.db, WORK, fact.id, "user", forgotten, for_good=False)
        tasks.start_soon(purge_forgotten_facts, bench.store, lambda: bench.now)
        left = "SELECT fact FROM fact ORDER BY id"
        await bench.until(lambda: [text for (text,) in bench.db.execute(left)] == ["Fact 1."])
        tasks.cancel_scope.cancel()
