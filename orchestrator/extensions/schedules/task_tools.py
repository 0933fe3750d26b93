"""schedule_task, list_tasks, cancel_task: an agent's own scheduled tasks.

A task runs with the rights that its agent has when it runs. Its outcome goes to the chat in which
it was scheduled.
"""

from collections.abc import Iterator

from orchestrator.agentsfile.problems import suggest_name
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.schedules.normalize import normalize_fields
from orchestrator.extensions.schedules.task_building import build_task_spec, postpone_task
from orchestrator.journal.db.database import Database
from orchestrator.journal.schedule import tasks
from orchestrator.journal.schedule.tasks import Task
from orchestrator.schedules.describe import format_local_time
from orchestrator.schedules.specs import Notify, TaskSpec
from orchestrator.schedules.task_fields import ALIASES, MISFIRE, TRIGGERS
from orchestrator.schedules.times import MINUTE
from orchestrator.tools.builtin.host_tool import (
    ToolContext,
    ToolFailure,
    assume_lasting,
    journal_tool,
    read_text_argument,
    show_example,
)
from orchestrator.tools.policy import SENDING, matches_pattern
from thinker.formats.word_lists import WORDS
from thinker.protocol.messages import JsonObject, SideEffect, ToolSpec

TASKS = "task, tasks, reminder, reminders, alarm, alarms, scheduled, cron"


@show_example({"name": "plants", "instructions": "Remind me to water plants.", "in_hours": 2})
@journal_tool(
    "Schedule a task or reminder; its outcome is sent to this chat."
    " Set exactly one of schedule, interval_minutes, at, in_minutes and in_hours.",
    {
        "name": "",
        "instructions": "What to do then, complete: the task does not see the conversation.",
        "schedule": "Cron expression such as 30 8 * * 1-5.",
        "interval_minutes": {"type": "integer"},
        "at": "Once, such as 2026-02-12T09:00.",
        "in_minutes": {"type": "number", "description": "Once; 1 at least."},
        "in_hours": {"type": "number"},
        "timezone": "Of schedule and at; default: the user's.",
        "required_tools": WORDS | {"description": "Default: chosen by the instructions."},
        "no_tools": {"type": "boolean", "description": "Only text, such as a reminder."},
    },
    ["name", "instructions"],
    aliases=frozenset({*ALIASES, *MISFIRE, "trigger_config", "max_steps", "effort"}),
    lasts=assume_lasting,
)
def schedule_task(db: Database, context: ToolContext, arguments: JsonObject) -> str:
    fields = normalize_fields({**arguments, "execution_plan": None}, context.now, context.agent_id)
    config = fields.get("trigger_config")
    if not isinstance(config, dict) or TRIGGERS.isdisjoint(config):
        raise ToolFailure(
            "no time given; set schedule, interval_minutes, at, in_minutes or in_hours"
        )
    notify = Notify(channel=context.address.channel, chat_id=context.address.chat_id)
    try:
        # Only the current chat: the model must not write to others.
        fast, now = context.fast_tasks, context.now
        task = build_task_spec(fields, context.timezone, None, now, fast=fast)
        task = postpone_task(
            task.model_copy(update={"notify": notify}), now if fast else now + MINUTE
        )
        line = _format_task(tasks.add_task(db, context.memory, task, context.now))
    except OrchestratorError as error:
        raise ToolFailure(str(error)) from error
    return " ".join([f"Scheduled: {line}", *_describe_useless_tools(task, context.offered)])


def _describe_useless_tools(task: TaskSpec, tools: tuple[ToolSpec, ...] | None) -> Iterator[str]:
    """Yield a sentence for each tool that the task names but will not have."""
    offered = None if tools is None else {tool.name for tool in tools}
    for name in task.required_tools or ():
        if any(matches_pattern(pattern, name) for pattern in SENDING):
            yield f"{name} is not offered in tasks: the outcome is sent to this chat by itself."
        elif offered is not None and name not in offered:
            advice = suggest_name(name, offered, "cancel the task and schedule it with other tools")
            yield f"You have no tool {name!r} now, so the task may fail{advice}"


@journal_tool(
    "List the scheduled tasks.",
    {},
    side_effect=SideEffect.PURE,
    keywords=f"{TASKS}, my schedule, planned",
)
def list_tasks(db: Database, context: ToolContext, arguments: JsonObject) -> str:
    del arguments
    return (
        "\n".join(map(_format_task, tasks.list_visible_tasks(db, context.memory)))
        or "No tasks are scheduled."
    )


@journal_tool(
    "Cancel a scheduled task.",
    {"task": "Its number or name, as list_tasks shows it."},
    ["task"],
    keywords=f"{TASKS}, cancel, stop reminding, stop sending",
    lasts=assume_lasting,
)
def cancel_task(db: Database, context: ToolContext, arguments: JsonObject) -> str:
    name = read_text_argument(arguments, "task")
    every = tasks.list_visible_tasks(db, context.memory)
    found = next((task for task in every if name in (str(task.id), task.name)), None)
    if found is None:
        raise ToolFailure(f"there is no task {name!r}; see list_tasks")
    tasks.cancel_task(db, found)
    return f"Canceled task {found.id} {found.name!r}."


def _format_task(task: Task) -> str:
    line = tasks.format_task_line(task)
    if task.next_at is None or task.state != "active":
        return f"{line}, {task.state} ({task.note})"
    return f"{line}, next {format_local_time(task.next_at, task.spec.zone)}"
