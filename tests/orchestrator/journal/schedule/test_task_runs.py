"""Runs of tasks in the journal: an operator starts one, and each is listed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import job, open_turn, opened
from fakes.memory import WORK

from orchestrator.errors import OrchestratorError
from orchestrator.journal.db.database import Database
from orchestrator.journal.schedule import task_runs, tasks
from orchestrator.journal.schedule.task_runs import TaskRun
from orchestrator.journal.schedule.tasks import Task
from orchestrator.journal.turns import inbox
from orchestrator.journal.turns.outbox import Address
from orchestrator.schedules.specs import Notify, TaskSpec

NOON = 1_770_897_600_000  # 2026-02-12 12:00 UTC


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal in which the agent ``work`` knows the Telegram chat 7."""
    with opened(tmp_path) as connection:
        open_turn(connection)
        yield connection


def daily(db: Database, chat: str) -> Task:
    """A task at nine every morning that tells a chat what came of it."""
    spec = TaskSpec(
        name="brief",
        instructions="What is on?",
        trigger={"schedule": "0 9 * * *"},
        timezone="UTC",
        notify=Notify(channel="telegram", chat_id=chat),
    )
    with job(db):
        return tasks.add_task(db, WORK, spec, NOON)


@pytest.mark.parametrize(
    ("chat", "address"),
    [("7", Address("telegram", "1", "7")), ("8", Address("console", "local", "task-1"))],
)
def test_operator_starts_a_run_and_the_schedule_stays(
    db: Database, chat: str, address: Address
) -> None:
    """For its chat, or for none if the agent does not know that."""
    task = daily(db, chat)
    with job(db):
        task_runs.run_task_now(db, task.id, NOON + 1)
    row = inbox.find_oldest_new(db, f"{task_runs.QUEUE}work/{task.id}")
    assert row is not None
    assert (row.kind, row.target, row.text) == ("task", "work", "What is on?")
    assert row.build_address() == address
    assert task_runs.list_task_runs(db, task.id, 9) == [
        TaskRun(task.id, NOON + 1, "due", None, None, None, None)
    ]
    assert tasks.load_task(db, task.id) == task


def test_instant_is_started_once(db: Database) -> None:
    """Also if the clock goes back to it."""
    task = daily(db, "7")
    for now in (NOON, NOON + 5):
        with job(db):
            task_runs.start_run(db, task, NOON, now)
    assert len(task_runs.list_task_runs(db, task.id, 9)) == 1
    assert db.execute("SELECT count(*) FROM inbox WHERE kind = 'task'").get == 1


def test_unknown_task_is_not_started(db: Database) -> None:
    """The error names it."""
    with pytest.raises(OrchestratorError, match="99"):
        task_runs.run_task_now(db, 99, NOON)
