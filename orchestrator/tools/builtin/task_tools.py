"""schedule_task, list_tasks, cancel_task: an agent's own scheduled tasks.

A task runs with the rights of its agent at that time, and its outcome goes to the chat in which it
was scheduled.
"""

import apsw

from orchestrator.errors import OrchestratorError
from orchestrator.journal.schedule import tasks
from orchestrator.journal.schedule.tasks import Task
from orchestrator.schedules.describe import describe, local_time
from orchestrator.schedules.normalize import ALIASES, TRIGGERS, normalize
from orchestrator.schedules.specs import MISFIRE, Notify, from_fields
from orchestrator.tools.builtin.host_tool import JournalTool, ToolContext, ToolFailure, spec, text
from thinker.protocol.messages import JsonObject, SideEffect


def _schedule(db: apsw.Connection, context: ToolContext, arguments: JsonObject) -> str:
    fields = normalize({**arguments, "execution_plan": None}, context.now, context.agent_id)
    config = fields.get("trigger_config")
    if not isinstance(config, dict) or TRIGGERS.isdisjoint(config):
        raise ToolFailure("say when: set schedule, interval_minutes, at, in_minutes or in_hours")
    notify = Notify(channel=context.address.channel, chat_id=context.address.chat_id)
    try:
        # No other chat than this one: the model must not write to strangers.
        wanted = from_fields(fields, context.timezone, None, context.now)
        wanted = wanted.model_copy(update={"notify": notify})
        return f"Scheduled: {_line(tasks.add(db, context.agent_id, wanted, context.now))}"
    except OrchestratorError as error:
        raise ToolFailure(str(error)) from error


def _list(db: apsw.Connection, context: ToolContext, arguments: JsonObject) -> str:
    del arguments
    return "\n".join(map(_line, tasks.of_agent(db, context.agent_id))) or "No tasks are scheduled."


def _cancel(db: apsw.Connection, context: ToolContext, arguments: JsonObject) -> str:
    wanted = text(arguments, "task")
    mine = tasks.of_agent(db, context.agent_id)
    found = next((task for task in mine if wanted in (str(task.id), task.name)), None)
    if found is None:
        raise ToolFailure(f"there is no task {wanted!r}; list_tasks shows those there are")
    tasks.cancel(db, found)
    return f"Cancelled task {found.id} {found.name!r}."


def _line(task: Task) -> str:
    when = describe(task.spec.parsed, task.spec.zone)
    if task.next_at is None or task.state != "active":
        return f"{task.id} {task.name!r}: {when}, {task.state} ({task.note})"
    return f"{task.id} {task.name!r}: {when}, next {local_time(task.next_at, task.spec.zone)}"


SCHEDULE_TASK = JournalTool(
    spec(
        "schedule_task",
        "Have a task done later, once or again and again; its outcome is sent to this chat."
        " Set exactly one of schedule, interval_minutes, at, in_minutes and in_hours.",
        {
            "name": "A short name.",
            "instructions": "What to do then, complete: the conversation will not be seen.",
            "schedule": "Cron expression: minute hour day month weekday, such as 30 8 * * 1-5.",
            "interval_minutes": "Every so many minutes, beginning now.",
            "at": "Once, at this date and time, such as 2026-02-12T09:00.",
            "in_minutes": "Once, so many minutes from now.",
            "in_hours": "Once, so many hours from now.",
            "timezone": "IANA time zone of schedule and at; the user's own when left out.",
            "required_tools": 'The tools that the task needs, such as ["search_memories"]; they'
            " are chosen by its text when left out.",
            "no_tools": '"true" for a task that needs only words, such as a reminder.',
        },
        ["name", "instructions"],
        side_effect=SideEffect.LOCAL_TX,
    ),
    _schedule,
    # What models that know the format of skills write as well.
    aliases=frozenset({*ALIASES, *MISFIRE, "trigger_config", "max_steps"}),
)
LIST_TASKS = JournalTool(
    spec("list_tasks", "List the scheduled tasks.", {}, side_effect=SideEffect.PURE), _list
)
CANCEL_TASK = JournalTool(
    spec(
        "cancel_task",
        "End a scheduled task.",
        {"task": "Its number or its name, as list_tasks shows them."},
        ["task"],
        side_effect=SideEffect.LOCAL_TX,
    ),
    _cancel,
)
