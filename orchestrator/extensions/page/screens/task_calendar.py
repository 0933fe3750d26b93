"""Tasks: a week of runs and missed instants, and each task by itself."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import htpy as h

from orchestrator.control import protocol
from orchestrator.control.roles import Right
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import build_link, render_act_button
from orchestrator.extensions.page.html.outside_text import (
    shorten_text,
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.parts import render_facts, render_panel
from orchestrator.extensions.page.html.tables import ACTIONS, TableColumn, render_table
from orchestrator.extensions.page.reads import task_week
from orchestrator.extensions.page.reads.task_week import TaskHistory, TaskWeek
from orchestrator.extensions.page.screen_request import PageScreen, ScreenRequest, ScreenResult
from orchestrator.journal.schedule.task_runs import TaskRun
from orchestrator.journal.schedule.tasks import Task
from orchestrator.schedules.describe import describe_trigger
from orchestrator.schedules.times import ScheduleError, find_next_due

WEEK = 7  # days
MAX_INSTANTS = 200  # instants of a week that are computed at most
NEXT_INSTANTS = 5  # instants of one task that are shown
MISFIRE = {
    "skip": "instants that were missed while no daemon ran are left out",
    "latest": "of several missed instants the latest is made up for",
    "all": "all instants that were missed are made up for, within a limit",
}


async def _show_week(request: ScreenRequest) -> ScreenResult:
    monday = _parse_monday(request)
    since, until = (
        _compute_day_start(monday, request.zone),
        _compute_day_start(monday + timedelta(days=WEEK), request.zone),
    )
    return render_week(
        request, await request.journal(task_week.load_task_week, since, until), monday
    )


async def _show_task(request: ScreenRequest) -> ScreenResult:
    number = request.path["task"]
    found = (
        await request.journal(task_week.find_task_history, int(number))
        if number.isdigit()
        else None
    )
    if found is None:
        return h.p(class_="empty")["This task does not exist."]
    return render_task(request, found)


def render_week(request: ScreenRequest, found: TaskWeek, monday: date) -> h.Node:
    """Render the week and the list."""
    if not found.tasks:
        return h.p(class_="empty")[
            "No tasks yet. Ask an agent to do something every morning, or see ",
            h.a(href="/manual/tasks")["the manual"],
            ".",
        ]
    return [
        h.p[
            h.a(href=build_link("tasks", week=(monday - timedelta(days=WEEK)).isoformat()))[
                "◂ before"
            ],
            f" · week of {monday:%Y-%m-%d} · ",
            h.a(href=build_link("tasks", week=(monday + timedelta(days=WEEK)).isoformat()))[
                "after ▸"
            ],
        ],
        h.div(class_="scroll", tabindex="0", role="region", aria_label="Week")[
            h.div(class_="week")[
                (_render_day(request, found, monday + timedelta(days=n)) for n in range(WEEK))
            ]
        ],
        render_panel(
            "All tasks",
            render_table(
                "All tasks", HEADS, (_render_task_row(request, found, task) for task in found.tasks)
            ),
        ),
        h.p(class_="soft")["In a terminal: ", h.code["orchestrator tasks list"]],
    ]


HEADS = (
    "Task",
    "Agent",
    "From",
    TableColumn("When", "time"),
    TableColumn("Next", "time"),
    "Last",
    TableColumn("Failures", "number"),
    "State",
    ACTIONS,
)


def render_task(request: ScreenRequest, found: TaskHistory) -> h.Node:
    """Render one task."""
    task = found.task
    reads = request.has_right(Right.READ)
    zone = ZoneInfo(task.spec.timezone) if task.spec.timezone else request.zone
    return [
        render_facts(
            {
                "task": show_hidden_characters(task.name),
                "agent": show_hidden_characters(task.agent_id),
                "from": task.source,
                "when": describe_schedule(task),
                "state": [
                    figures.render_state(_choose_state_word(task)),
                    strip_terminal_codes(task.note or ""),
                ],
                "missed instants": MISFIRE.get(str(task.spec.misfire), str(task.spec.misfire)),
                "result goes to": _describe_destination(task),
            }
        ),
        h.p[_render_task_buttons(request, task)],
        h.pre[strip_terminal_codes(task.spec.instructions)] if reads else None,
        render_panel(
            "Next",
            h.ul[
                (
                    h.li[figures.render_moment(at, zone)]
                    for at in islice(list_next_instants(task, request.now), NEXT_INSTANTS)
                )
            ],
            h.p(class_="soft")[
                f"In {zone.key}. A time that a change of the clock skips comes right after it, and"
                " one that comes twice counts once."
            ],
        ),
        render_panel(
            "Runs",
            render_table(
                "Runs",
                (TableColumn("Due", "time"), "State", "Result", ""),
                (
                    (
                        figures.render_moment(run.scheduled_at, request.zone),
                        figures.render_state(run.state),
                        shorten_text(run.note or (run.result or "" if reads else ""), 120),
                        h.a(href=build_link("turns", run.turn_id))["its turn"]
                        if run.turn_id
                        else None,
                    )
                    for run in found.runs
                ),
                "It was not due yet.",
            ),
        ),
    ]


def list_next_instants(task: Task, since: int) -> Iterator[int]:
    """Yield the next instants of a task."""
    at = task.next_at
    while at is not None and task.state == "active":
        if at >= since:
            yield at
        try:
            at = find_next_due(task.spec.parsed_trigger, task.spec.zone, at)
        except ScheduleError:
            return


def describe_schedule(task: Task) -> str:
    """Describe when a task is due."""
    try:
        return describe_trigger(task.spec.parsed_trigger, task.spec.zone)
    except ScheduleError as error:
        return str(error)


def _render_day(request: ScreenRequest, found: TaskWeek, day: date) -> h.Element:
    since, until = (
        _compute_day_start(day, request.zone),
        _compute_day_start(day + timedelta(days=1), request.zone),
    )
    names = {task.id: task.name for task in found.tasks}
    runs = [run for run in found.runs if since <= run.scheduled_at < until]
    future = (
        sorted(
            (at, task)
            for task in found.tasks
            for at in islice(
                list_next_instants(task, max(request.now, since)), MAX_INSTANTS // WEEK
            )
            if at < until
        )
        if until > request.now
        else []
    )
    today = since <= request.now < until
    return h.section(class_="panel", aria_current="date" if today else None)[
        h.h3[f"{day:%a %d %b}"],
        h.ul[
            (_render_task_run(request, run, names) for run in runs),
            (
                h.li[f"{_format_clock_time(request, at)} due · {shorten_text(task.name, 24)}"]
                for at, task in future
            ),
        ]
        if runs or future
        else None,
    ]


def _render_task_run(request: ScreenRequest, run: TaskRun, names: dict[int, str]) -> h.Element:
    name = shorten_text(names.get(run.task_id, ""), 24)
    shown = h.a(href=build_link("turns", run.turn_id))[name] if run.turn_id else name
    return h.li[
        f"{_format_clock_time(request, run.scheduled_at)} ",
        figures.render_state(run.state),
        " ",
        shown,
    ]


def _format_clock_time(request: ScreenRequest, at: int) -> str:
    return f"{datetime.fromtimestamp(at / 1000, request.zone):%H:%M}"


def _render_task_row(request: ScreenRequest, found: TaskWeek, task: Task) -> tuple[h.Node, ...]:
    last = found.last.get(task.id)
    coming_at = next(list_next_instants(task, request.now), None)
    return (
        h.a(href=build_link("tasks", str(task.id)), data_row=True)[
            show_hidden_characters(task.name)
        ],
        show_hidden_characters(task.agent_id),
        task.source,
        describe_schedule(task),
        None if coming_at is None else figures.render_moment(coming_at, request.zone),
        None
        if last is None
        else [
            figures.render_state(last.state),
            f" {figures.format_age(last.scheduled_at, request.now)}",
        ],
        str(task.failures),
        figures.render_state(_choose_state_word(task)),
        _render_task_buttons(request, task),
    )


def _render_task_buttons(request: ScreenRequest, task: Task) -> h.Node:
    if not request.has_right(Right.CHANGE):
        return None
    row = {"id": str(task.id)}
    switch = (
        render_act_button(request, protocol.TASK_DISABLE, row, "Switch off")
        if task.state == "active"
        else render_act_button(request, protocol.TASK_ENABLE, row, "Switch on")
    )
    return [render_act_button(request, protocol.TASK_RUN, row, "Run now"), switch]


def _choose_state_word(task: Task) -> str:
    return {"active": "ok", "disabled": "off"}.get(task.state, task.state)


def _describe_destination(task: Task) -> str:
    notify = task.spec.notify
    return (
        "nowhere; it is only stored here"
        if notify is None
        else f"{notify.channel}:{notify.chat_id}"
    )


def _parse_monday(request: ScreenRequest) -> date:
    try:
        day = date.fromisoformat(request.query.get("week", ""))
    except ValueError:
        day = datetime.fromtimestamp(request.now / 1000, request.zone).date()
    day = min(max(day, date(1990, 1, 1)), date(2199, 1, 1))
    return day - timedelta(days=day.weekday())


def _compute_day_start(day: date, zone: ZoneInfo) -> int:
    return int(datetime.combine(day, time(), zone).astimezone(UTC).timestamp() * 1000)


SCREENS = (
    PageScreen("/tasks", "Tasks", Right.LOOK, _show_week, "Tasks"),
    PageScreen("/tasks/{task}", "A task", Right.LOOK, _show_task, "Tasks"),
)
