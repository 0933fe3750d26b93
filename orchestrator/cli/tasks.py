"""``orchestrator tasks``: scheduled tasks and their runs."""

import time
from contextlib import suppress
from typing import Annotated

import typer

from orchestrator.agentsfile import AgentsFileError, load
from orchestrator.cli._direct_journal import change
from orchestrator.cli._options import (
    AsJson,
    Home,
    RowNumber,
    command_group,
    environment,
    load_settings,
)
from orchestrator.cli._output import count, minute
from orchestrator.cli._prose import say
from orchestrator.cli._tables import listing, print_json, table
from orchestrator.control.camel_model import CamelModel
from orchestrator.control.protocol import TASK_DISABLE, TASK_ENABLE, TASK_RUN, RowId
from orchestrator.journal.opening import reading
from orchestrator.journal.schedule import task_runs, tasks
from orchestrator.journal.schedule.tasks import Task
from orchestrator.prompts.skill_checks import skill_problems
from orchestrator.schedules.describe import describe, local_time
from orchestrator.schedules.times import ScheduleError
from orchestrator.settings import Settings
from orchestrator.timezones import host_timezone
from thinker.protocol.names import turn_name

Limit = Annotated[int, typer.Option("--limit", help="How many runs to show.", min=1, max=1000)]
SHOWN = 200  # characters of an outcome in the table

app = command_group("tasks")


class TaskReport(CamelModel):
    """One task in ``tasks list --json``; times in milliseconds since the epoch."""

    id: int
    agent_id: str
    name: str
    source: str
    schedule: str
    state: str
    note: str | None
    failures: int
    next_at: int | None
    scope: str
    outcome: str


class RunReport(CamelModel):
    """One run in ``tasks history --json``; times in milliseconds since the epoch."""

    task_id: int
    scheduled_at: int
    state: str
    note: str | None
    result: str | None
    turn_id: str | None
    ended_at: int | None


@app.command("list")
def list_tasks(*, as_json: AsJson = False, home: Home = None) -> None:
    """List the scheduled tasks of all agents."""
    settings = load_settings(home)
    with reading(settings.journal) as db:
        found = tasks.listed(db)
        outcomes = {task.id: task_runs.outcome_goes(db, task) for task in found}
    listing(
        {"tasks": [_report(task, outcomes[task.id]) for task in found]},
        "Tasks",
        ("id", "agent", "chat", "name", "schedule", "state", "next", "failures", "why"),
        (
            (
                t.id,
                t.agent_id,
                t.scope,
                t.name,
                _schedule(t),
                t.state,
                _next(t),
                t.failures or None,
                t.note,
            )
            for t in found
        ),
        empty="no task is scheduled",
        as_json=as_json,
    )
    if not as_json:
        for number, outcome in outcomes.items():
            say(f"the outcome of task {number} {outcome}")
        _tell_broken_skills(settings)


@app.command()
def history(
    number: RowNumber, *, limit: Limit = 20, as_json: AsJson = False, home: Home = None
) -> None:
    """Show the runs of a task, the newest first, also the skipped ones."""
    with reading(load_settings(home).journal) as db:
        task = tasks.load(db, number)
        found = task_runs.history(db, number, limit)
        outcome = task_runs.outcome_goes(db, task)
    if as_json:
        print_json({"runs": list(map(RunReport.from_object, found))})
        return
    say(f"task {task.id} {task.name!r} of {task.agent_id}: {_schedule(task)}")
    say(f"its outcome {outcome}")
    table(
        "Runs",
        ("due (UTC)", "state", "turn", "why", "outcome"),
        (
            (
                minute(run.scheduled_at / 1000),
                run.state,
                turn_name(run.turn_id or ""),
                run.note,
                (run.result or "")[:SHOWN],
            )
            for run in found
        ),
    )


@app.command()
def run(number: RowNumber, *, home: Home = None) -> None:
    """Run a task once now; its schedule stays as it is."""
    change(load_settings(home), TASK_RUN, RowId(id=number), task_runs.run_now, number)
    typer.echo(f"task {number} is queued; see: orchestrator tasks history {number}")


@app.command()
def enable(number: RowNumber, *, home: Home = None) -> None:
    """Enable a task and reset its count of failures."""
    change(load_settings(home), TASK_ENABLE, RowId(id=number), tasks.enable, number)
    typer.echo(f"task {number} is enabled")


@app.command()
def disable(number: RowNumber, *, home: Home = None) -> None:
    """Disable a task until it is enabled again."""
    change(load_settings(home), TASK_DISABLE, RowId(id=number), tasks.disable, number)
    typer.echo(f"task {number} is disabled")


def _tell_broken_skills(settings: Settings) -> None:
    """Say how many skills are broken: their schedules are not in the list."""
    environ, now = environment(settings), round(time.time() * 1000)
    with suppress(AgentsFileError):
        file = load(settings.agents_file(), environ).file
        problems = skill_problems(settings, file, host_timezone(environ), now)
        errors = sum(problem.severity == "error" for problem in problems)
        if errors:
            say(f"{count(errors, 'error')} in skills; see: orchestrator check")


def _schedule(task: Task) -> str:
    try:
        return describe(task.spec.parsed, task.spec.zone)
    except ScheduleError as error:
        return str(error)


def _next(task: Task) -> str | None:
    if task.next_at is None or task.state != "active":
        return None
    return local_time(task.next_at, task.spec.zone)


def _report(task: Task, outcome: str) -> TaskReport:
    next_at = task.next_at if task.state == "active" else None
    return TaskReport.from_object(task, schedule=_schedule(task), next_at=next_at, outcome=outcome)
