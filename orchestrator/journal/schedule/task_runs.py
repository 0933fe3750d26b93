"""Runs of scheduled tasks: one for each due instant.

``due → ran | failed``, or ``missed`` or ``skipped``.
"""

from dataclasses import dataclass

from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.schedule import tasks
from orchestrator.journal.schedule.tasks import Task
from orchestrator.journal.turns import inbox, internal_messages, sessions
from orchestrator.journal.turns.internal_messages import InternalMessage
from orchestrator.journal.turns.outbox import Address

QUEUE = "task/"  # begins the name of a task's queue: runs wait for each other, no chat for them
SUCCESS = frozenset({"done", "max_steps", "max_tokens", "length"})  # stop reasons with an outcome


@dataclass(frozen=True)
class TaskRun:
    """A run of a task; ``scheduled_at`` and ``ended_at`` in milliseconds."""

    task_id: int
    scheduled_at: int
    state: str
    note: str | None
    result: str | None
    turn_id: str | None
    ended_at: int | None


RUNS = Rows(
    TaskRun,
    "task_run LEFT JOIN inbox ON inbox.id = inbox_id",
    "task_id, scheduled_at, task_run.state, note, result, turn_id, task_run.ended_at",
)


def run_task_now(db: Database, task_id: int, now: int) -> None:
    """Run a task now for an operator; its schedule does not change.

    Raises:
        OrchestratorError: the task does not exist.
    """
    start_run(db, tasks.load_task(db, task_id), now, now)
    audit.record_decision(db, "operator", "ran", f"task {task_id}", now)


def start_run(db: Database, task: Task, at: int, now: int) -> None:
    """Store an inbox row and its run, unless the instant was fired before the clock went back."""
    known = db.execute(
        "SELECT 1 FROM task_run WHERE task_id = ? AND scheduled_at = ?", (task.id, at)
    ).get
    if known is not None:
        return
    name = f"{task.id}@{at}"
    message = InternalMessage(inbox.TASK, name, task.name, task.agent_id, task.spec.instructions)
    queue = f"{QUEUE}{task.agent_id}/{task.id}"
    row = internal_messages.post(db, resolve_address(db, task), message, now, queue)
    db.execute(
        "INSERT INTO task_run(task_id, scheduled_at, state, inbox_id, created_at)"
        " VALUES(?,?,'due',?,?)",
        (task.id, at, row, now),
    )


def resolve_address(db: Database, task: Task) -> Address:
    """Return the chat to notify, or a console chat of the task that only keeps the outcome."""
    notify = task.spec.notify
    found = notify and sessions.find_known_address(
        db, task.agent_id, notify.channel, notify.chat_id
    )
    return found or Address("console", "local", f"{inbox.TASK}-{task.id}")


def list_task_runs(db: Database, task_id: int, limit: int) -> list[TaskRun]:
    return RUNS.select(db, "task_id = ? ORDER BY scheduled_at DESC LIMIT ?", task_id, limit)
