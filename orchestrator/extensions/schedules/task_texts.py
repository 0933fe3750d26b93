"""Scheduled tasks as texts that people edit: JSON with the fields of a skill's schedule."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from orchestrator.agentsfile import AgentsFile
from orchestrator.config_problem import Problem
from orchestrator.editable import format_json_text
from orchestrator.errors import OrchestratorError, join_names
from orchestrator.extensions.schedules.normalize import PLAN, normalize_fields
from orchestrator.extensions.schedules.task_building import build_task_spec
from orchestrator.journal.schedule.tasks import Task
from orchestrator.schedules.describe import describe_trigger
from orchestrator.schedules.specs import Notify, TaskSpec
from orchestrator.schedules.task_fields import MISFIRE, TRIGGERS
from orchestrator.schedules.times import find_first_due, find_next_due
from orchestrator.timezones import find_host_timezone
from thinker.protocol.messages import JsonObject
from thinker.protocol.names import ChatName

AGENT, NOTIFY, ENABLED = "agent", "notify", "enabled"
FIELDS = (
    AGENT,
    "name",
    "instructions",
    *sorted(TRIGGERS),
    "timezone",
    NOTIFY,
    "required_tools",
    "max_steps",
    "effort",
    "check",
    PLAN,
    *MISFIRE,
    ENABLED,
)
MAX_TIME = 80  # characters of a time that is not understood
SHOWN_TIMES = 5  # instants of a schedule that is being edited
EVERY = re.compile(r"every (\d{1,5}) ?(m|min|minutes?|h|hours?|d|days?)", re.IGNORECASE)
AT_TIME = re.compile(
    r"(?:(daily|every day|weekdays|weekends|(?:sun|mon|tue|wed|thu|fri|sat)[a-z]*)"
    r" )?at ([01]?\d|2[0-3]):([0-5]\d)",
    re.IGNORECASE,
)
PLAIN_CRON = re.compile(r"([0-5]?\d) ([01]?\d|2[0-3]) \* \* (\*|1-5|0,6|[0-6])", re.ASCII)
CRON = re.compile(r"@\w+|[\d*/,?-]+( \S+){4,5}", re.ASCII)
UNKNOWN_TIME = (
    "{written!r} is no time that is understood; write it like: daily at 8:30, weekdays at 8:30,"
    " mondays at 9:00, every 2 hours, or as a cron expression such as 30 8 * * 1-5"
)
MINUTES = {"m": 1, "h": 60, "d": 24 * 60}
DAYS = {"weekdays": "1-5", "weekends": "0,6"}
DAY_NAMES = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
WEEK = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


class WrittenTask(NamedTuple):
    """A task as a text says it."""

    agent_id: str
    spec: TaskSpec
    enabled: bool


def format_task(task: Task) -> str:
    """Return the text of a task."""
    spec = task.spec
    fields: JsonObject = {AGENT: task.agent_id, "name": task.name}
    fields |= {"instructions": spec.instructions, **spec.trigger, "timezone": spec.timezone}
    if isinstance(schedule := fields.get("schedule"), str):
        fields["schedule"] = write_words(schedule)
    if spec.notify is not None:
        fields[NOTIFY] = f"{spec.notify.channel}:{spec.notify.chat_id}"
    plain = spec.model_dump(
        mode="json",
        include={"required_tools", "max_steps", "effort", "check", *MISFIRE},
        exclude_defaults=True,
    )
    fields |= plain
    if spec.direct is not None:
        fields[PLAN] = [spec.direct.model_dump(mode="json")]
    fields[ENABLED] = task.state == "active"
    return format_json_text(fields)


def parse_task(
    text: str, agents: AgentsFile, environ: Mapping[str, str], now: int, *, fast: bool
) -> WrittenTask:
    """Return the task that a text describes; ``now`` is in milliseconds since the epoch.

    Raises:
        OrchestratorError: the text is no JSON object, or one of its fields is wrong.
    """
    fields = _read_fields(text)
    agent_id = fields.pop(AGENT, None)
    agent = agents.find_agent(agent_id) if isinstance(agent_id, str) else None
    if agent is None:
        known = join_names(agents.list_enabled_ids())
        raise OrchestratorError(f'"{AGENT}" must be one of: {known}')
    enabled = fields.pop(ENABLED, True)
    if not isinstance(enabled, bool):
        raise OrchestratorError(f'"{ENABLED}" must be true or false')
    notify = _parse_chat(fields.pop(NOTIFY, None))
    check = fields.pop("check", None)
    if isinstance(written := fields.get("schedule"), str):
        fields |= _read_schedule(written)
    if TRIGGERS.isdisjoint(fields):
        raise OrchestratorError(
            'no time is given; write "schedule", such as "daily at 8:30" or "30 8 * * 1-5",'
            ' "interval_minutes" or "at"'
        )
    found = normalize_fields(fields, now, agent.agent_id)
    config = found.get("trigger_config")
    if check is not None and isinstance(config, dict):
        config["check"] = check
    zone = agent.timezone or find_host_timezone(environ)
    return WrittenTask(
        agent.agent_id, build_task_spec(found, zone, notify, now, fast=fast), enabled
    )


def list_due_times(
    text: str, agents: AgentsFile, environ: Mapping[str, str], now: int
) -> tuple[str, tuple[int, ...]]:
    """Return the time zone of a task's text, and its next instants after ``now``.

    Raises:
        OrchestratorError: as `parse_task` does.
    """
    spec = parse_task(text, agents, environ, now, fast=True).spec
    trigger, times = spec.parsed_trigger, list[int]()
    at = find_first_due(trigger, spec.zone, now)
    while at is not None and len(times) < SHOWN_TIMES:
        times.append(at)
        at = find_next_due(trigger, spec.zone, at)
    return spec.timezone, tuple(times)


def read_words(schedule: str) -> JsonObject:
    """Return the fields of a schedule in words, such as ``every 2 hours``; else as it is."""
    words = " ".join(schedule.split())
    if found := EVERY.fullmatch(words):
        return {"schedule": None, "interval_minutes": int(found[1]) * MINUTES[found[2][0].lower()]}
    if found := AT_TIME.fullmatch(words):
        day = (found[1] or "daily").lower()
        days = DAYS.get(day, str(WEEK.index(day[:3])) if day[:3] in WEEK else "*")
        return {"schedule": f"{int(found[3])} {int(found[2])} * * {days}"}
    return {"schedule": schedule}


def _read_schedule(written: str) -> JsonObject:
    """Return the fields of a schedule in words or as cron.

    Raises:
        OrchestratorError: it is neither.
    """
    fields = read_words(written)
    schedule = fields["schedule"]
    if isinstance(schedule, str) and not CRON.fullmatch(" ".join(schedule.split())):
        raise OrchestratorError(UNKNOWN_TIME.format(written=written[:MAX_TIME]))
    return fields


def write_words(schedule: str) -> str:
    """Return a cron expression in the words that `read_words` reads; else as it is."""
    found = PLAIN_CRON.fullmatch(schedule)
    if found is None:
        return schedule
    days = {"*": "daily", **{cron: words for words, cron in DAYS.items()}}
    day = days.get(found[3]) or f"{DAY_NAMES[int(found[3])]}s"
    return f"{day} at {int(found[2])}:{int(found[1]):02}"


def describe_task_change(old: str | None, new: str | None) -> Sequence[str]:
    """Return what changes for a task, in two texts of it."""
    before, after = _read_loosely(old), _read_loosely(new)
    name = f"task {after.get('name') or before.get('name')}"
    if new is None:
        return (f"{name} is cancelled",)
    if old is None:
        return (f"{name} of {after.get(AGENT)} is new: it runs {_describe_time(after)}",)
    found = []
    times = _describe_time(before), _describe_time(after)
    if times[0] != times[1]:
        found.append(f"{name} runs {times[1]} instead of {times[0]}")
    if before.get("instructions") != after.get("instructions"):
        found.append(f"{name} has other instructions")
    if before.get(ENABLED, True) != after.get(ENABLED, True):
        found.append(f"{name} is {'enabled' if after.get(ENABLED, True) else 'disabled'}")
    if before.get(NOTIFY) != after.get(NOTIFY):
        found.append(f"the outcome of {name} goes to {after.get(NOTIFY) or 'the journal only'}")
    told = {*TRIGGERS, "timezone", "instructions", ENABLED, NOTIFY}
    for field in (field for field in FIELDS if field not in told):
        was, now = before.get(field), after.get(field)
        if was != now:
            found.append(f"{name}: {field} {_show(was)} → {_show(now)}")
    return found


def build_problem(name: str, message: str) -> Problem:
    """Return the error of a task's text."""
    return Problem("error", name, 0, None, message)


def _read_fields(text: str) -> JsonObject:
    try:
        fields = json.loads(text)
    except (RecursionError, ValueError) as error:
        raise OrchestratorError(f"it is not valid JSON: {error}") from error
    if not isinstance(fields, dict):
        raise OrchestratorError("it must be a JSON object with the fields of the task")
    unknown = [key for key in fields if key not in FIELDS]
    if unknown:
        known = ", ".join(FIELDS)
        raise OrchestratorError(f"unknown field {unknown[0]!r}; the fields are: {known}")
    return fields


def _read_loosely(text: str | None) -> JsonObject:
    try:
        return _read_fields(text or "{}")
    except OrchestratorError:
        return {}


def _parse_chat(written: JsonValue) -> Notify | None:
    if written in (None, ""):
        return None
    try:
        chat = ChatName.parse(str(written))
    except ValueError as error:
        raise OrchestratorError(f'"{NOTIFY}": {error}') from error
    return Notify(channel=chat.channel, chat_id=chat.chat_id)


def _describe_time(fields: JsonObject) -> str:
    """Return when a task runs, in words if its fields are right."""
    schedule = fields.get("schedule")
    trigger = read_words(schedule) if isinstance(schedule, str) else {}
    trigger = {**{key: fields.get(key) for key in TRIGGERS}, **trigger}
    spec = TaskSpec(
        name="a task",
        instructions="none",
        trigger={key: value for key, value in trigger.items() if value is not None},
        timezone=str(fields.get("timezone") or "UTC"),
    )
    try:
        return describe_trigger(spec.parsed_trigger, spec.zone)
    except OrchestratorError:
        return str(schedule or "at another time")


def _show(value: JsonValue) -> str:
    return "not set" if value is None else json.dumps(value, ensure_ascii=False)
