"""The kind of texts that are scheduled tasks, kept in the journal."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from orchestrator.config_problem import Problem
from orchestrator.editable import EditableKind, TextChangedError
from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.extension import DaemonView
from orchestrator.extensions.schedules.task_texts import (
    WrittenTask,
    build_problem,
    describe_task_change,
    format_task,
    parse_task,
)
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.journal.schedule import tasks
from orchestrator.journal.schedule.tasks import TASKS, Task
from orchestrator.schedules.times import find_first_due

NEW = "tasks/new"
NAME = re.compile(r"tasks/(new|[1-9]\d{0,17})", re.ASCII)
OF_SKILL = "task {id} comes from the skill {name!r}: change the schedule in its SKILL.md"
TAKEN = "a task {name!r} exists (id {id}); cancel it or choose another name"
KEPT = "state IN('active','disabled')"  # of tasks that have texts, and names of their own
OTHER_AGENT = "a task stays with its agent {agent!r}; make a new task for another one"


class TaskChange(NamedTuple):
    """A task to change from its ``old`` text; without ``written`` it is cancelled.

    ``task_id`` is None for a new one.
    """

    task_id: int | None
    old: str | None
    written: WrittenTask | None
    by: str


class TaskKind(EditableKind):
    """Tasks: those that agents and people scheduled, and as read-only texts those of skills."""

    prefix, title, author = "tasks/", "a scheduled task", "an agent or a command"

    def __init__(self, daemon: DaemonView, wake: Callable[[], None]) -> None:
        self._daemon = daemon
        self._wake = wake

    async def list_names(self) -> Sequence[str]:
        found = await self._daemon.store.read(tasks.list_tasks)
        return [f"tasks/{task.id}" for task in found]

    async def read_text(self, name: str) -> str | None:
        task_id = parse_task_name(name)
        found = None if task_id is None else await self._daemon.store.read(_find_task, task_id)
        return None if found is None else format_task(found)

    async def check_text(self, name: str, text: str | None) -> Sequence[Problem]:
        task_id = parse_task_name(name)
        task = None if task_id is None else await self._daemon.store.read(_find_task, task_id)
        if task is not None and task.source == "skill":
            return (build_problem(name, OF_SKILL.format(id=task.id, name=task.name)),)
        if text is None:
            return ()
        try:
            written = self._parse(text)
        except OrchestratorError as error:
            return (build_problem(name, str(error)),)
        if task is not None and written.agent_id != task.agent_id:
            return (build_problem(name, OTHER_AGENT.format(agent=task.agent_id)),)
        return ()

    async def describe_change(self, name: str, old: str | None, new: str | None) -> Sequence[str]:
        del name
        return describe_task_change(old, new)

    async def write_text(self, name: str, old: str | None, new: str | None, by: str) -> str:
        task_id = parse_task_name(name)
        written = None if new is None else self._parse(new)
        now = self._daemon.machine.clock()
        change = TaskChange(task_id, old, written, by)
        found = await self._daemon.store.transact(change_task, change, now)
        self._wake()
        return f"tasks/{found}"

    def _parse(self, text: str) -> WrittenTask:
        daemon = self._daemon
        now, fast = daemon.machine.clock(), daemon.settings.fast_tasks
        return parse_task(text, daemon.get_agents_file(), daemon.environ, now, fast=fast)


def change_task(db: Database, change: TaskChange, now: int) -> int:
    """Change, cancel or schedule a task, and return its id.

    Raises:
        TextChangedError: the task is another one by now.
        OrchestratorError: there are too many tasks, or the name is taken.
    """
    task = None if change.task_id is None else _find_task(db, change.task_id)
    if (None if task is None else format_task(task)) != change.old:
        raise TextChangedError(f"task {change.task_id} was changed meanwhile; read it again")
    written = change.written
    if written is None:
        if task is None:
            raise OrchestratorError("there is no such task to cancel")
        tasks.end_task(db, task.id, "cancelled", f"by {change.by}")
        audit.record_decision(db, change.by, "cancelled", f"task {task.id}", now)
        return task.id
    if task is None and change.task_id is not None:
        task = tasks.load_task(db, change.task_id)  # it comes back with its runs
    if task is None:
        memory = MemoryScope.for_whole_agent(written.agent_id)
        task = tasks.add_task(db, memory, written.spec, now)
        audit.record_decision(db, change.by, "scheduled", f"task {task.id}", now)
    else:
        _rewrite_task(db, task, written, now)
        audit.record_decision(db, change.by, "edited", f"task {task.id}", now)
    if not written.enabled:
        tasks.end_task(db, task.id, "disabled", f"by {change.by}")
    return task.id


def _rewrite_task(db: Database, task: Task, written: WrittenTask, now: int) -> None:
    """Store another definition; an unchanged schedule of an enabled task keeps its next instant."""
    spec = written.spec
    taken = TASKS.find_first(
        db,
        f"agent_id = ? AND source = ? AND scope = ? AND name = ? AND id <> ? AND {KEPT}",
        task.agent_id,
        task.source,
        task.scope,
        spec.name,
        task.id,
    )
    if taken is not None:
        raise OrchestratorError(TAKEN.format(name=taken.name, id=taken.id))
    same = (task.spec.trigger, task.spec.timezone) == (spec.trigger, spec.timezone)
    kept = task.next_at if same and task.state == "active" else None
    next_at = kept or find_first_due(spec.parsed_trigger, spec.zone, now)
    db.execute(
        "UPDATE task SET name = ?, spec = ?, next_at = ?, state = 'active', note = NULL,"
        " failures = 0, not_before = 0 WHERE id = ?",
        (spec.name, spec.model_dump_json(), next_at, task.id),
    )


def _find_task(db: Database, task_id: int) -> Task | None:
    """Return a task that is active or disabled."""
    return TASKS.find_first(db, f"id = ? AND {KEPT}", task_id)


def parse_task_name(name: str) -> int | None:
    """Return the id in a name; None for a new task.

    Raises:
        UnknownNameError: no task can have this name.
    """
    found = NAME.fullmatch(name)
    if found is None:
        raise UnknownNameError(f"{name!r} is no task; write tasks/ and a number, or {NEW}")
    return None if found[1] == "new" else int(found[1])
