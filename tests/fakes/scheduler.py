"""A scheduler on a journal of its own, with clocks that the test sets."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from fakes.agents_file import validate_file
from fakes.journal import store_in
from fakes.memory import WORK
from fakes.time_limit import time_limit

from orchestrator.agentsfile import AgentsFile
from orchestrator.extensions.schedules.scheduler import Scheduler
from orchestrator.journal.db.database import Database
from orchestrator.journal.schedule import task_runs, tasks
from orchestrator.schedules.specs import TaskSpec
from orchestrator.settings import Settings

NOON = 1_770_897_600_000  # 2026-02-12 12:00 UTC
MINUTE = 60_000
SKILL = "---\nname: {name}\ndescription: d\nmetadata:\n  trigger_config: {trigger}\n---\nDo it.\n"


class Bench:
    """A scheduler on a journal of its own, with clocks that the test sets."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.store = store_in(home)
        self.now = NOON
        self.monotonic = 1000.0
        self.file = agents()
        self.changes = 0
        self.changed = anyio.Event()
        self.scheduler = Scheduler(
            self.store,
            lambda: self.file,
            Settings(home=home),
            {"TZ": "UTC"},
            self._on_change,
            lambda: self.now,
            lambda: self.monotonic,
        )

    def _on_change(self) -> None:
        self.changes += 1
        self.changed.set()
        self.changed = anyio.Event()

    async def task(self, **trigger: object) -> int:
        """A new task with this trigger; its number."""
        spec = TaskSpec.model_validate(
            {"name": "t", "instructions": "x", "trigger": trigger, "timezone": "UTC"}
        )
        return (await self.store.transact(tasks.add_task, WORK, spec, self.now)).id

    async def states(self, task: int) -> list[str]:
        """What became of its runs, the newest first."""
        return [run.state for run in await self.store.transact(task_runs.list_task_runs, task, 10)]

    async def until(self, wanted: Callable[[Database], bool]) -> None:
        """Wait until this holds of the journal."""
        with time_limit():
            while not await self.store.read(wanted):
                await self.store.transact(lambda _: None)

    def skill(self, name: str, trigger: str | None) -> None:
        """Write a skill file; None removes it."""
        folder = self.home / "skills" / name
        folder.mkdir(parents=True, exist_ok=True)
        if trigger is None:
            (folder / "SKILL.md").unlink()
            return
        (folder / "SKILL.md").write_text(SKILL.format(name=name, trigger=trigger), "utf-8")


def agents(**fields: object) -> AgentsFile:
    """One agent ``work``."""
    work = {"agentId": "work", "llmProvider": "demo", **fields}
    return validate_file({"agents": [work]})


@asynccontextmanager
async def running(home: Path) -> AsyncIterator[Bench]:
    """A bench whose scheduler runs."""
    bench = Bench(home)
    async with anyio.create_task_group() as group:
        group.start_soon(bench.scheduler.run)
        yield bench
        group.cancel_scope.cancel()
    bench.store.close()
