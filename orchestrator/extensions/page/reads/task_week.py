"""The tasks of a week: their runs, missed instants and states."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from orchestrator.journal.db.database import Database
from orchestrator.journal.schedule import task_runs, tasks
from orchestrator.journal.schedule.task_runs import RUNS, TaskRun
from orchestrator.journal.schedule.tasks import Task

MAX_LISTED = 100  # runs of a task in a week; of more, the runs of each day are counted
MAX_RECENT = 30  # newest runs of each task
MAX_TASK_RUNS = 50  # runs of one task


class CountedRuns(NamedTuple):
    """How many runs of a task in a day ended in a state."""

    task_id: int
    day: int  # its place in the week
    state: str
    number: int


class TaskWeek(NamedTuple):
    """Tasks with their newest runs, and the runs of a week: listed, oldest first, or counted."""

    tasks: list[Task]
    recent: dict[int, list[TaskRun]]
    runs: list[TaskRun]
    counted: list[CountedRuns]


class TaskHistory(NamedTuple):
    """A task and its newest runs."""

    task: Task
    runs: list[TaskRun]


def load_task_week(db: Database, bounds: Sequence[int]) -> TaskWeek:
    """Return the tasks with their runs; ``bounds`` are the instants at which days begin and end."""
    found = TaskWeek(tasks.list_tasks(db), {}, [], [])
    for task in found.tasks:
        found.recent[task.id] = task_runs.list_task_runs(db, task.id, MAX_RECENT)
        span = task.id, bounds[0], bounds[-1]
        where = "task_id = ? AND scheduled_at >= ? AND scheduled_at < ?"
        number = db.execute(f"SELECT count(*) FROM task_run WHERE {where}", span).get
        if int(number) <= MAX_LISTED:
            found.runs.extend(RUNS.select(db, f"{where} ORDER BY scheduled_at", *span))
            continue
        for day, (since, until) in enumerate(pairwise(bounds)):
            rows = db.execute(
                f"SELECT state, count(*) FROM task_run WHERE {where} GROUP BY state",
                (task.id, since, until),
            )
            found.counted.extend(
                CountedRuns(task.id, day, str(state), int(count)) for state, count in rows
            )
    found.runs.sort(key=lambda run: run.scheduled_at)
    return found


def find_task_history(db: Database, task_id: int) -> TaskHistory | None:
    """Return a task with its runs; None if unknown."""
    found = [task for task in tasks.list_tasks(db) if task.id == task_id]
    return (
        TaskHistory(found[0], task_runs.list_task_runs(db, task_id, MAX_TASK_RUNS))
        if found
        else None
    )
