"""The tasks of a week in the journal."""

from pathlib import Path

import pytest
from fakes.journal import booted, job

from orchestrator.extensions.page.reads import task_week
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.journal.schedule import tasks
from orchestrator.schedules.specs import TaskSpec

SPEC = TaskSpec(name="note", instructions="x", trigger={"interval_minutes": 1}, timezone="UTC")
BOUNDS = (0, 100, 200)


def test_runs_are_listed_or_counted_by_the_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of many runs only their number counts; none is left out."""
    with booted(tmp_path) as db:
        with job(db):
            task = tasks.add_task(db, MemoryScope.for_whole_agent("work"), SPEC, 1)
            for at in (10, 20, 110, 210):
                db.execute(
                    "INSERT INTO task_run(task_id, scheduled_at, state, created_at)"
                    " VALUES(?,?,'missed',1)",
                    (task.id, at),
                )
        listed = task_week.load_task_week(db, BOUNDS)
        assert [run.scheduled_at for run in listed.runs] == [10, 20, 110]
        assert listed.counted == []
        monkeypatch.setattr(task_week, "MAX_LISTED", 2)
        counted = task_week.load_task_week(db, BOUNDS)
        assert counted.runs == []
        assert [(one.day, one.state, one.number) for one in counted.counted] == [
            (0, "missed", 2),
            (1, "missed", 1),
        ]
        assert len(counted.recent[task.id]) == 4
