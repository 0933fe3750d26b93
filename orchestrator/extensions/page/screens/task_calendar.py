"""The week of the tasks, below their list: what ran, what was missed, and what is due."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import islice
from typing import NamedTuple

import htpy as h

from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import build_link
from orchestrator.extensions.page.html.outside_text import shorten_text
from orchestrator.extensions.page.html.parts import render_panel
from orchestrator.extensions.page.reads.task_week import TaskWeek
from orchestrator.extensions.page.reads.turn_filters import compute_day_start, parse_day
from orchestrator.extensions.page.screen_request import ScreenRequest
from orchestrator.journal.schedule.task_runs import TaskRun
from orchestrator.journal.schedule.tasks import Task
from orchestrator.schedules.describe import describe_trigger
from orchestrator.schedules.times import ScheduleError, find_next_due

WEEK = 7  # days
MAX_A_DAY = 4  # lines of one task in a day; of more instants the day has their number
MAX_INSTANTS = 20_000  # of a week that are computed, about 2 us each


class Due(NamedTuple):
    """The coming instants of a task in a day; ``cut`` says that there are more."""

    task: Task
    instants: Sequence[int]
    cut: bool


def choose_monday(request: ScreenRequest) -> date:
    """Return the first day of the week that an address asks for."""
    day = parse_day(request.query.get("week", ""))
    if day is None:
        day = datetime.fromtimestamp(request.now / 1000, request.zone).date()
    return day - timedelta(days=day.weekday())


def list_day_bounds(request: ScreenRequest, monday: date) -> list[int]:
    """Return the instants at which the days of a week begin, and its end."""
    return [
        compute_day_start(monday + timedelta(days=number), request.zone)
        for number in range(WEEK + 1)
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


def render_calendar(request: ScreenRequest, found: TaskWeek, monday: date) -> h.Element:
    """Render seven days; a frequent task is one line in each."""
    bounds = list_day_bounds(request, monday)
    due = _list_due(found.tasks, bounds, request.now)
    around = (("◂ Before", -WEEK), ("This week", None), ("After ▸", WEEK))
    return render_panel(
        f"Week of {monday:%Y-%m-%d}",
        h.div(class_="week")[
            (
                _render_day(request, found, day, (bounds[day], bounds[day + 1]), due[day])
                for day in range(WEEK)
            )
        ],
        actions=[
            h.a(
                href=build_link(
                    "tasks",
                    week=None if days is None else (monday + timedelta(days=days)).isoformat(),
                )
            )[label]
            for label, days in around
        ],
    )


def _list_due(tasks: Sequence[Task], bounds: Sequence[int], now: int) -> list[list[Due]]:
    """Return what is due in each day of a week."""
    limit = MAX_INSTANTS // max(1, len(tasks))
    days: list[list[Due]] = [[] for _ in range(WEEK)]
    for task in tasks:
        coming = list(
            islice(
                (
                    at
                    for at in _take_until(list_next_instants(task, now), bounds[-1])
                    if at >= bounds[0]
                ),
                limit,
            )
        )
        for day, found in enumerate(days):
            own = [at for at in coming if bounds[day] <= at < bounds[day + 1]]
            cut = len(coming) == limit and bounds[day + 1] > coming[-1]
            if own or cut:
                found.append(Due(task, own, cut=cut))
    return days


def _take_until(instants: Iterator[int], end: int) -> Iterator[int]:
    for at in instants:
        if at >= end:
            return
        yield at


def _render_day(
    request: ScreenRequest,
    found: TaskWeek,
    day: int,
    span: tuple[int, int],
    due: Sequence[Due],
) -> h.Element:
    since, until = span
    tasks = {task.id: task for task in found.tasks}
    runs = [run for run in found.runs if since <= run.scheduled_at < until]
    counts: dict[int, Counter[str]] = {}
    for run in runs:
        counts.setdefault(run.task_id, Counter())[run.state] += 1
    for one in found.counted:
        if one.day == day:
            counts.setdefault(one.task_id, Counter())[one.state] += one.number
    coming = {one.task.id: one for one in due}
    lines: list[tuple[int, h.Node]] = []
    for task_id in {**counts, **coming}:
        if task_id in tasks:
            own = [run for run in runs if run.task_id == task_id]
            lines += _list_lines(
                request, tasks[task_id], (own, counts.get(task_id, {})), coming.get(task_id)
            )
    lines.sort(key=lambda line: line[0])
    today = since <= request.now < until
    label = datetime.fromtimestamp(since / 1000, request.zone)
    return h.section(class_=None if lines else "void", aria_current="date" if today else None)[
        h.h3[f"{label:%a %d %b}"], h.ul[(line for _, line in lines)] if lines else None
    ]


def _list_lines(
    request: ScreenRequest,
    task: Task,
    past: tuple[Sequence[TaskRun], Mapping[str, int]],
    due: Due | None,
) -> Iterator[tuple[int, h.Node]]:
    """Yield the lines of a task in a day with their instants."""
    runs, counts = past
    coming = () if due is None else due.instants
    if sum(counts.values()) + len(coming) > MAX_A_DAY or (due is not None and due.cut):
        yield 0, _render_frequent(request, task, counts, due)
        return
    for run in runs:
        yield run.scheduled_at, _render_run(request, task, run)
    name = shorten_text(task.name, 40)
    for at in coming:
        clock = figures.format_clock_time(at, request.zone)
        link = h.a(href=build_link("tasks", str(task.id)), class_="by")[name]
        yield at, h.li[f"{clock} ", h.span(class_="soft")["due "], link]


def _render_run(request: ScreenRequest, task: Task, run: TaskRun) -> h.Element:
    address = build_link("turns", run.turn_id) if run.turn_id else build_link("tasks", str(task.id))
    return h.li[
        f"{figures.format_clock_time(run.scheduled_at, request.zone)} ",
        figures.render_state(run.state),
        " ",
        h.a(href=address, class_="by")[shorten_text(task.name, 40)],
    ]


def _render_frequent(
    request: ScreenRequest, task: Task, counts: Mapping[str, int], due: Due | None
) -> h.Element:
    told = [f"{figures.format_count(count)} {state}" for state, count in counts.items()]
    if due is not None and due.instants:
        more = "at least " if due.cut else ""
        clock = figures.format_clock_time(due.instants[0], request.zone)
        times = figures.format_plural(len(due.instants), "time")
        told.append(f"{more}{times} due, next {clock}" if told else f"{more}{times}, from {clock}")
    elif due is not None:
        told.append("and so on")
    return h.li[
        h.a(href=build_link("tasks", str(task.id)), class_="by")[shorten_text(task.name, 40)],
        h.small[f" {describe_schedule(task)}: {', '.join(told)}"],
    ]
