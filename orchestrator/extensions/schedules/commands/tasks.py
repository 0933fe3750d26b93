"""``orchestrator tasks``: scheduled tasks and their runs."""

from contextlib import suppress
from typing import Annotated

import typer

from orchestrator.agentsfile import AgentsFileError, load_agents_file
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.direct_journal import change_journal
from orchestrator.cli.options import AsJson, Home, RowNumber, load_environment, load_settings
from orchestrator.cli.output import format_count, format_minute, print_text
from orchestrator.cli.tables import (
    Columns,
    describe_record,
    print_json,
    print_listing,
    print_records,
)
from orchestrator.control.protocol import TASK_DISABLE, TASK_ENABLE, TASK_RUN, RowId
from orchestrator.extensions.schedules.commands.task_preview import preview
from orchestrator.journal.db.database import Database
from orchestrator.journal.opening import open_for_reading
from orchestrator.journal.schedule import task_runs, tasks
from orchestrator.journal.schedule.tasks import Task
from orchestrator.journal.turns import sessions
from orchestrator.prompts.skill_checks import check_skill_files
from orchestrator.schedules.describe import describe_trigger, format_local_time
from orchestrator.schedules.times import ScheduleError
from orchestrator.settings import Settings
from thinker.protocol.names import format_turn_name

Limit = Annotated[int, typer.Option("--limit", help="Number of runs to show.", min=1, max=1000)]
SHOWN = 200  # characters of an outcome in the table

UNTOLD = (
    "stays in 'orchestrator tasks history'; to get it in a chat, set notify_chat_id in the skill's"
    " trigger_config, or costControls.notifyChatId of the agent"
)
STRANGER = (
    "stays in 'orchestrator tasks history', because {agent} has not talked in {chat} yet; write to"
    " it there once"
)

app = make_command_group("tasks")


FIELDS = (  # of a task in JSON; times in milliseconds since the epoch
    "id",
    "agent_id",
    "name",
    "source",
    "schedule",
    "state",
    "note",
    "failures",
    "next_at",
    "scope",
    "outcome",
)


@app.command("list")
def list_tasks(*, as_json: AsJson = False, home: Home = None) -> None:
    """List the scheduled tasks of all agents."""
    settings = load_settings(home)
    with open_for_reading(settings.journal) as db:
        found = tasks.list_tasks(db)
        outcomes = {task.id: _describe_outcome_place(db, task) for task in found}
    print_listing(
        "Tasks",
        found,
        TASKS,
        key="tasks",
        empty="no tasks are scheduled",
        as_json=as_json,
        describe=lambda task: _describe_task(task, outcomes[task.id]),
    )
    if not as_json:
        for number, outcome in outcomes.items():
            print_text(f"the outcome of task {number} {outcome}")
        _tell_broken_skills(settings)


@app.command()
def history(
    number: RowNumber, *, limit: Limit = 20, as_json: AsJson = False, home: Home = None
) -> None:
    """Show the runs of a task, newest first, including skipped ones."""
    with open_for_reading(load_settings(home).journal) as db:
        task = tasks.load_task(db, number)
        found = task_runs.list_task_runs(db, number, limit)
        outcome = _describe_outcome_place(db, task)
    if as_json:
        print_json({"runs": list(map(describe_record, found))})
        return
    print_text(f"task {task.id} {task.name!r} of {task.agent_id}: {_describe_schedule(task)}")
    print_text(f"its outcome {outcome}")
    print_records("Runs", found, RUNS)


@app.command()
def run(number: RowNumber, *, home: Home = None) -> None:
    """Run a task once now; its schedule does not change."""
    change_journal(load_settings(home), TASK_RUN, RowId(id=number), task_runs.run_task_now, number)
    typer.echo(f"task {number} is queued; see: orchestrator tasks history {number}")


@app.command()
def enable(number: RowNumber, *, home: Home = None) -> None:
    """Enable a task and reset its failure count."""
    change_journal(load_settings(home), TASK_ENABLE, RowId(id=number), tasks.enable_task, number)
    typer.echo(f"task {number} is enabled")


@app.command()
def disable(number: RowNumber, *, home: Home = None) -> None:
    """Disable a task until it is enabled again."""
    change_journal(load_settings(home), TASK_DISABLE, RowId(id=number), tasks.disable_task, number)
    typer.echo(f"task {number} is disabled")


app.command()(preview)


def _tell_broken_skills(settings: Settings) -> None:
    """Report how many skills are broken: their schedules are missing from the list."""
    environ = load_environment(settings)
    with suppress(AgentsFileError):
        file = load_agents_file(settings.find_agents_file(), environ).file
        problems = check_skill_files(settings, file)
        errors = sum(problem.severity == "error" for problem in problems)
        if errors:
            print_text(f"{format_count(errors, 'error')} in skills; see: orchestrator check")


def _describe_schedule(task: Task) -> str:
    try:
        return describe_trigger(task.spec.parsed_trigger, task.spec.zone)
    except ScheduleError as error:
        return str(error)


def _describe_outcome_place(db: Database, task: Task) -> str:
    """Say where the outcome of a task's next run will go."""
    notify = task.spec.notify
    if notify is None:
        return UNTOLD
    chat = f"{notify.channel}:{notify.chat_id}"
    known = sessions.find_known_address(db, task.agent_id, notify.channel, notify.chat_id)
    return f"goes to {chat}" if known else STRANGER.format(agent=task.agent_id, chat=chat)


def _format_next_run(task: Task) -> str | None:
    if task.next_at is None or task.state != "active":
        return None
    return format_local_time(task.next_at, task.spec.zone)


def _describe_task(task: Task, outcome: str) -> dict[str, object]:
    next_at = task.next_at if task.state == "active" else None
    schedule = _describe_schedule(task)
    return describe_record(task, FIELDS, schedule=schedule, next_at=next_at, outcome=outcome)


TASKS: Columns = {
    "id": "id",
    "agent": "agent_id",
    "chat": "scope",
    "name": "name",
    "schedule": _describe_schedule,
    "state": "state",
    "next": _format_next_run,
    "failures": lambda task: task.failures or None,
    "why": "note",
}
RUNS: Columns = {
    "due (UTC)": lambda run: format_minute(run.scheduled_at / 1000),
    "state": "state",
    "turn": lambda run: format_turn_name(run.turn_id or ""),
    "why": "note",
    "outcome": lambda run: (run.result or "")[:SHOWN],
}
