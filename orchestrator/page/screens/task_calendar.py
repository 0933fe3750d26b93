"""Tasks: a week with what ran and what was missed, and each task by itself."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import htpy as h

from orchestrator.control import protocol
from orchestrator.control.page_access import Right
from orchestrator.journal.inspect import task_week
from orchestrator.journal.inspect.task_week import TaskPast, TaskWeek
from orchestrator.journal.schedule.task_runs import TaskRun
from orchestrator.journal.schedule.tasks import Task
from orchestrator.page.html import figures
from orchestrator.page.html.forms import act, link
from orchestrator.page.html.outside_text import plain, short, visible
from orchestrator.page.html.tables import facts, panel, table
from orchestrator.page.visit import Screen, Shown, Visit
from orchestrator.schedules.describe import describe
from orchestrator.schedules.times import ScheduleError, following

WEEK = 7  # days
FUTURE = 200  # instants of a week that are computed at most
NEXT = 5  # instants of one task that are shown
MISFIRE = {
    "skip": "instants that were missed while no daemon ran are left out",
    "latest": "of several missed instants the latest is made up for",
    "all": "all instants that were missed are made up for, within a limit",
}


async def _body(visit: Visit) -> Shown:
    monday = _monday(visit)
    since, until = _start(monday, visit.zone), _start(monday + timedelta(days=WEEK), visit.zone)
    return draw(visit, await visit.journal(task_week.find, since, until), monday)


async def _one(visit: Visit) -> Shown:
    number = visit.path["task"]
    found = await visit.journal(task_week.past, int(number)) if number.isdigit() else None
    if found is None:
        return h.p(class_="empty")["There is no such task."]
    return draw_one(visit, found)


def draw(visit: Visit, found: TaskWeek, monday: date) -> h.Node:
    """Draw the week and the list."""
    if not found.tasks:
        return h.p(class_="empty")[
            "No task yet. Ask an agent to do something every morning, or see ",
            h.a(href="/manual/tasks")["the manual"],
            ".",
        ]
    return [
        h.p[
            h.a(href=link("tasks", week=(monday - timedelta(days=WEEK)).isoformat()))["◂ before"],
            f" · week of {monday:%Y-%m-%d} · ",
            h.a(href=link("tasks", week=(monday + timedelta(days=WEEK)).isoformat()))["after ▸"],
        ],
        h.div(class_="scroll", tabindex="0", role="region", aria_label="Week")[
            h.div(class_="week")[
                (_day(visit, found, monday + timedelta(days=n)) for n in range(WEEK))
            ]
        ],
        panel(
            "All tasks",
            table("All tasks", HEADS, (_row(visit, found, task) for task in found.tasks)),
        ),
        h.p(class_="soft")["In a terminal: ", h.code["orchestrator tasks list"]],
    ]


HEADS = ("Task", "Agent", "From", "When", "Next", "Last", "#Failures", "State", "")


def draw_one(visit: Visit, found: TaskPast) -> h.Node:
    """Draw one task."""
    task = found.task
    reads = visit.may(Right.READ)
    zone = ZoneInfo(task.spec.timezone) if task.spec.timezone else visit.zone
    return [
        facts(
            {
                "task": visible(task.name),
                "agent": visible(task.agent_id),
                "from": task.source,
                "when": words(task),
                "state": [figures.state(_state(task)), plain(task.note or "")],
                "missed instants": MISFIRE.get(str(task.spec.misfire), str(task.spec.misfire)),
                "result goes to": _goes(task),
            }
        ),
        h.p[_buttons(visit, task)],
        h.pre[plain(task.spec.instructions)] if reads else None,
        panel(
            "Next",
            h.ul[(h.li[figures.moment(at, zone)] for at in islice(coming(task, visit.now), NEXT))],
            h.p(class_="soft")[
                f"In {zone.key}. A time that a change of the clock skips comes right after it, and"
                " one that comes twice counts once."
            ],
        ),
        panel(
            "Runs",
            table(
                "Runs",
                ("Due", "State", "Result", ""),
                (
                    (
                        figures.moment(run.scheduled_at, visit.zone),
                        figures.state(run.state),
                        short(run.note or (run.result or "" if reads else ""), 120),
                        h.a(href=link("turns", run.turn_id))["its turn"] if run.turn_id else None,
                    )
                    for run in found.runs
                ),
                "It was not due yet.",
            ),
        ),
    ]


def coming(task: Task, since: int) -> Iterator[int]:
    """Yield the next instants of a task."""
    at = task.next_at
    while at is not None and task.state == "active":
        if at >= since:
            yield at
        try:
            at = following(task.spec.parsed, task.spec.zone, at)
        except ScheduleError:
            return


def words(task: Task) -> str:
    """Say when a task is due."""
    try:
        return describe(task.spec.parsed, task.spec.zone)
    except ScheduleError as error:
        return str(error)


def _day(visit: Visit, found: TaskWeek, day: date) -> h.Element:
    since, until = _start(day, visit.zone), _start(day + timedelta(days=1), visit.zone)
    names = {task.id: task.name for task in found.tasks}
    runs = [run for run in found.runs if since <= run.scheduled_at < until]
    future = (
        sorted(
            (at, task)
            for task in found.tasks
            for at in islice(coming(task, max(visit.now, since)), FUTURE // WEEK)
            if at < until
        )
        if until > visit.now
        else []
    )
    today = since <= visit.now < until
    return h.section(class_="panel", aria_current="date" if today else None)[
        h.h3[f"{day:%a %d %b}"],
        h.ul[
            (_run(visit, run, names) for run in runs),
            (h.li[f"{_clock(visit, at)} due · {short(task.name, 24)}"] for at, task in future),
        ]
        if runs or future
        else None,
    ]


def _run(visit: Visit, run: TaskRun, names: dict[int, str]) -> h.Element:
    name = short(names.get(run.task_id, ""), 24)
    shown = h.a(href=link("turns", run.turn_id))[name] if run.turn_id else name
    return h.li[f"{_clock(visit, run.scheduled_at)} ", figures.state(run.state), " ", shown]


def _clock(visit: Visit, at: int) -> str:
    return f"{datetime.fromtimestamp(at / 1000, visit.zone):%H:%M}"


def _row(visit: Visit, found: TaskWeek, task: Task) -> tuple[h.Node, ...]:
    last = found.last.get(task.id)
    coming_at = next(coming(task, visit.now), None)
    return (
        h.a(href=link("tasks", str(task.id)), data_row=True)[visible(task.name)],
        visible(task.agent_id),
        task.source,
        words(task),
        None if coming_at is None else figures.moment(coming_at, visit.zone),
        None
        if last is None
        else [figures.state(last.state), f" {figures.ago(last.scheduled_at, visit.now)}"],
        str(task.failures),
        figures.state(_state(task)),
        _buttons(visit, task),
    )


def _buttons(visit: Visit, task: Task) -> h.Node:
    if not visit.may(Right.CHANGE):
        return None
    row = {"id": str(task.id)}
    switch = (
        act(visit, protocol.TASK_DISABLE, row, "Switch off")
        if task.state == "active"
        else act(visit, protocol.TASK_ENABLE, row, "Switch on")
    )
    return [act(visit, protocol.TASK_RUN, row, "Run now"), switch]


def _state(task: Task) -> str:
    return {"active": "ok", "disabled": "off"}.get(task.state, task.state)


def _goes(task: Task) -> str:
    notify = task.spec.notify
    return "nowhere; it is kept here" if notify is None else f"{notify.channel}:{notify.chat_id}"


def _monday(visit: Visit) -> date:
    try:
        day = date.fromisoformat(visit.query.get("week", ""))
    except ValueError:
        day = datetime.fromtimestamp(visit.now / 1000, visit.zone).date()
    day = min(max(day, date(1990, 1, 1)), date(2199, 1, 1))
    return day - timedelta(days=day.weekday())


def _start(day: date, zone: ZoneInfo) -> int:
    return int(datetime.combine(day, time(), zone).astimezone(UTC).timestamp() * 1000)


SCREENS = (
    Screen("/tasks", "Tasks", Right.LOOK, _body, "Tasks"),
    Screen("/tasks/{task}", "A task", Right.LOOK, _one, "Tasks"),
)
