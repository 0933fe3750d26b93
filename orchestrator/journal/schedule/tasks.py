"""Scheduled tasks.

A task is ``active``, ``disabled`` (by an operator, or after failures), ``done`` (no instant is
left) or ``cancelled``.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import Json

from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.memory.memory_scope import EVERY, MemoryScope
from orchestrator.schedules.describe import describe_trigger
from orchestrator.schedules.specs import Source, TaskSpec
from orchestrator.schedules.times import HOUR, find_first_due, find_next_due

MAX_TASKS = 100  # tasks of a chat, after which it may schedule no more
MAX_NEW, PERIOD = 60, HOUR  # tasks that a chat may schedule in a time: tasks may schedule tasks


@dataclass(frozen=True)
class Task:
    """A task, with times in milliseconds; ``next_at`` is None if no instant is left.

    ``scope`` is the chat that scheduled it, whose memory it uses.
    """

    id: int
    agent_id: str
    name: str
    source: str
    spec: Json[TaskSpec]
    digest: str
    state: str
    note: str | None
    failures: int
    not_before: int
    next_at: int | None
    created_at: int
    scope: str


TASKS = Rows(Task, "task")


def add_task(db: Database, memory: MemoryScope, spec: TaskSpec, now: int) -> Task:
    """Schedule a task for a tool call in a chat.

    Raises:
        OrchestratorError: the name is taken, or there are too many tasks, or too many new ones.
    """
    made = TASKS.select(
        db,
        "agent_id = ? AND scope = ? AND source = 'tool' AND created_at > ?",
        memory.agent_id,
        memory.chat,
        now - PERIOD,
    )
    if len(made) >= MAX_NEW:
        raise OrchestratorError(f"{MAX_NEW} tasks were scheduled within an hour; try again later")
    known = list_visible_tasks(db, memory)
    if len(known) >= MAX_TASKS:
        raise OrchestratorError(f"there are {MAX_TASKS} tasks already; cancel one first")
    for task in known:
        if task.name == spec.name:
            raise OrchestratorError(
                f"a task {spec.name!r} exists (id {task.id}); cancel it or choose another name"
            )
    return _insert_task(db, memory.agent_id, "tool", spec, now, scope=memory.chat)


def _insert_task(
    db: Database,
    agent_id: str,
    source: Source,
    spec: TaskSpec,
    now: int,
    *,
    digest: str = "",
    scope: str = EVERY,
) -> Task:
    next_at = find_first_due(spec.parsed_trigger, spec.zone, now)
    task_id = db.execute(
        "INSERT INTO task(agent_id, name, source, spec, digest, state, next_at, created_at, scope)"
        " VALUES(?,?,?,?,?,'active',?,?,?) RETURNING id",
        (agent_id, spec.name, source, spec.model_dump_json(), digest, next_at, now, scope),
    ).get
    return load_task(db, task_id)


def sync_skill_tasks(
    db: Database, planned: Mapping[str, Mapping[str, tuple[str, TaskSpec]]], now: int
) -> None:
    """Update the tasks of skills to match the files: agent → name → (digest, task).

    A disabled task stays disabled; an unchanged schedule keeps its next instant.
    """
    stored = TASKS.select(db, "source = 'skill' ORDER BY id")
    known = {(task.agent_id, task.name): task for task in stored}
    for agent_id, specs in planned.items():
        for name, (digest, spec) in specs.items():
            task = known.pop((agent_id, name), None)
            if task is None:
                _insert_task(db, agent_id, "skill", spec, now, digest=digest)
            elif task.digest != digest or task.state == "cancelled":
                _renew_task(db, task, digest, spec, now)
    for task in known.values():
        if task.agent_id in planned and task.state != "cancelled":
            end_task(db, task.id, "cancelled", "its skill has no schedule for this agent any more")
        elif task.state in {"active", "disabled"}:
            end_task(db, task.id, "cancelled", "its agent was removed")


def _renew_task(db: Database, task: Task, digest: str, spec: TaskSpec, now: int) -> None:
    same = (task.spec.trigger, task.spec.timezone) == (spec.trigger, spec.timezone)
    next_at = task.next_at if same else find_first_due(spec.parsed_trigger, spec.zone, now)
    state = task.state if task.state == "disabled" else "done" if next_at is None else "active"
    db.execute(
        "UPDATE task SET spec = ?, digest = ?, next_at = ?, state = ?,"
        " note = iif(? = 'disabled', note, NULL) WHERE id = ?",
        (spec.model_dump_json(), digest, next_at, state, state, task.id),
    )


def load_task(db: Database, task_id: int) -> Task:
    """Return a task by its id.

    Raises:
        OrchestratorError: there is no such task.
    """
    found = TASKS.find_first(db, "id = ?", task_id)
    if found is None:
        raise UnknownNameError(f"unknown task {task_id}; see 'orchestrator tasks list'")
    return found


def list_tasks(db: Database) -> list[Task]:
    """Return the active and disabled tasks, by agent."""
    return TASKS.select(db, "state IN('active','disabled') ORDER BY agent_id, id")


def list_visible_tasks(db: Database, memory: MemoryScope) -> list[Task]:
    where, values = memory.build_row_condition()
    return TASKS.select(db, f"state IN('active','disabled') AND {where} ORDER BY id", *values)


def enable_task(db: Database, task_id: int, now: int) -> None:
    """Enable a task and reset its failures; it continues at its next instant after ``now``.

    Raises:
        OrchestratorError: there is no such task, or it has no instant to come.
    """
    task = load_task(db, task_id)
    if task.state == "active":
        return
    upcoming = find_next_due(task.spec.parsed_trigger, task.spec.zone, now)
    if upcoming is None and task.next_at is not None and task.next_at > now:
        upcoming = task.next_at
    if upcoming is None or task.state != "disabled":
        raise OrchestratorError(
            f"task {task_id} is {task.state} and has no instant to come; "
            f"run it with 'orchestrator tasks run {task_id}'"
        )
    db.execute(
        "UPDATE task SET state = 'active', note = NULL, failures = 0, not_before = 0, next_at = ?"
        " WHERE id = ?",
        (upcoming, task_id),
    )
    audit.record_decision(db, "operator", "enabled", f"task {task_id}", now)


def disable_task(db: Database, task_id: int, now: int) -> None:
    """Disable a task until it is enabled.

    Raises:
        OrchestratorError: there is no such task, or it is not active.
    """
    if load_task(db, task_id).state != "active":
        raise OrchestratorError(f"task {task_id} is not active; see 'orchestrator tasks list'")
    end_task(db, task_id, "disabled", "by the operator")
    audit.record_decision(db, "operator", "disabled", f"task {task_id}", now)


def cancel_task(db: Database, task: Task) -> None:
    """End a task for its agent; a skill's task is disabled, because its file still exists."""
    end_task(db, task.id, "disabled" if task.source == "skill" else "cancelled", "by the agent")


def end_task(db: Database, task_id: int, state: str, note: str) -> None:
    """End a task in a state in which it does not run; ``note`` is the reason."""
    db.execute("UPDATE task SET state = ?, note = ? WHERE id = ?", (state, note, task_id))


def format_task_line(task: Task) -> str:
    """Return how a list of tasks shows a task: the lasting part of its line."""
    return f"{task.id} {task.name!r}: {describe_trigger(task.spec.parsed_trigger, task.spec.zone)}"
