"""The tasks of a week: their runs, missed instants and states."""

from typing import NamedTuple

from orchestrator.journal.db.database import Database
from orchestrator.journal.schedule import task_runs, tasks
from orchestrator.journal.schedule.task_runs import RUNS, TaskRun
from orchestrator.journal.schedule.tasks import Task

MAX_RUNS = 500
MAX_TASK_RUNS = 50  # runs of one task


class TaskWeek(NamedTuple):
    """Tasks with the newest run of each, and the runs between two instants, oldest first."""

    tasks: list[Task]
    last: dict[int, TaskRun]
    runs: list[TaskRun]


class TaskHistory(NamedTuple):
    """A task and its newest runs."""

    task: Task
    runs: list[TaskRun]


def load_task_week(db: Database, since: int, until: int) -> TaskWeek:
    """Return the tasks with their runs between two instants."""
    found = tasks.list_tasks(db)
    newest = {task.id: task_runs.list_task_runs(db, task.id, 1) for task in found}
    runs = [
        run
        for task in found
        for run in RUNS.select(
            db,
            "task_id = ? AND scheduled_at >= ? AND scheduled_at < ? ORDER BY scheduled_at LIMIT ?",
            task.id,
            since,
            until,
            MAX_RUNS,
        )
    ]
    last = {task_id: rows[0] for task_id, rows in newest.items() if rows}
    return TaskWeek(found, last, sorted(runs, key=lambda run: run.scheduled_at)[:MAX_RUNS])


def find_task_history(db: Database, task_id: int) -> TaskHistory | None:
    """Return a task with its runs; None if unknown."""
    found = [task for task in tasks.list_tasks(db) if task.id == task_id]
    return (
        TaskHistory(found[0], task_runs.list_task_runs(db, task_id, MAX_TASK_RUNS))
        if found
        else None
    )
