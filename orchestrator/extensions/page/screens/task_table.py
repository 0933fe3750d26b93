"""Tasks: the list with the last runs of each, and each task by itself."""

from collections.abc import Sequence
from itertools import islice
from zoneinfo import ZoneInfo

import htpy as h

from orchestrator.control import protocol
from orchestrator.control.roles import Right
from orchestrator.extensions.page import edit_calls
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.edit_report import render_saved_note, was_just_saved
from orchestrator.extensions.page.html.forms import build_link, render_act_button
from orchestrator.extensions.page.html.outside_text import (
    shorten_text,
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.tables import ACTIONS, TableColumn, render_table
from orchestrator.extensions.page.html.vocabulary import (
    render_blank,
    render_facts,
    render_link_button,
    render_panel,
)
from orchestrator.extensions.page.reads import task_week
from orchestrator.extensions.page.reads.task_week import MAX_RECENT, TaskHistory, TaskWeek
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
)
from orchestrator.extensions.page.screens import task_calendar
from orchestrator.extensions.page.screens.task_calendar import (
    describe_schedule,
    list_next_instants,
    render_calendar,
)
from orchestrator.journal.schedule.task_runs import TaskRun
from orchestrator.journal.schedule.tasks import Task

NEXT_INSTANTS = 5  # instants of one task that are shown
STRIP = 6  # pixels of a run in the strip
MISFIRE = {
    "skip": "instants that were missed while no daemon ran are left out",
    "latest": "of several missed instants the latest is made up for",
    "all": "all instants that were missed are made up for, within a limit",
}
SOURCES = {"tool": "an agent, or a person on the page", "skill": "a skill"}
HEADS = (
    TableColumn("Task", "grow"),
    TableColumn("Next", "time"),
    f"Last {MAX_RECENT}",
    "State",
    TableColumn("Agent", "id"),
    ACTIONS,
)


async def _show_tasks(request: ScreenRequest) -> ScreenResult:
    monday = task_calendar.choose_monday(request)
    bounds = task_calendar.list_day_bounds(request, monday)
    found = await request.journal(task_week.load_task_week, bounds)
    content = render_tasks(request, found)
    if found.tasks:
        content = [content, render_calendar(request, found, monday)]
    lead = figures.format_plural(len(found.tasks), "task") if found.tasks else None
    return TitledContent("Tasks", content, lead=lead, actions=_render_new_button(request))


async def _show_task(request: ScreenRequest) -> ScreenResult:
    number = int(request.path["task"])
    found = await request.journal(task_week.find_task_history, number)
    note = await _render_saved(request, f"tasks/{number}")
    if found is None:
        what = "This task does not exist." if note is None else "It is not done any more."
        gone = render_blank(what, render_link_button("All tasks", "/tasks"), "tasks")
        return TitledContent("A task", [note, gone])
    screen = render_task(request, found)
    return screen._replace(content=[note, screen.content])


async def _render_saved(request: ScreenRequest, name: str) -> h.Node:
    """Render what was just done to a task, with the way back; None after nothing."""
    reads = request.has_right(Right.READ) and request.daemon is not None
    if not reads or not was_just_saved(request):
        return None
    newest = await edit_calls.find_newest(request, name)
    return None if newest is None else render_saved_note(request, newest, f"/{name}")


def render_tasks(request: ScreenRequest, found: TaskWeek) -> h.Node:
    """Render the list."""
    if not found.tasks:
        return render_blank(
            "No tasks yet. An agent does one at set times, such as every morning.",
            _render_new_button(request),
            "tasks",
        )
    rows = (_render_row(request, task, found.recent.get(task.id, ())) for task in found.tasks)
    return render_panel("All tasks", render_table("All tasks", HEADS, rows))


def render_task(request: ScreenRequest, found: TaskHistory) -> TitledContent:
    """Render one task."""
    task = found.task
    reads = request.has_right(Right.READ)
    content = [
        render_panel(
            "What it does",
            h.pre[strip_terminal_codes(task.spec.instructions)]
            if reads
            else h.p(class_="soft")["Texts are for operators."],
            render_facts(
                {
                    "When": describe_schedule(task),
                    "Made by": SOURCES.get(task.source, task.source),
                    "Result goes to": _describe_destination(task),
                    "Missed": MISFIRE.get(str(task.spec.misfire), str(task.spec.misfire)),
                    "Note": strip_terminal_codes(task.note) if task.note else None,
                }
            ),
        ),
        render_panel(
            "Next",
            _render_instants(request, task),
        ),
        render_panel("Runs", _render_runs(request, found.runs, reads=reads)),
    ]
    lead: h.Node = [
        figures.render_state(_choose_state_word(task)),
        f" · {show_hidden_characters(task.agent_id)} · {describe_schedule(task)}",
    ]
    name = show_hidden_characters(task.name)
    buttons = _render_buttons(request, task, removes=True)
    return TitledContent(name, content, lead=lead, actions=buttons)


def _render_instants(request: ScreenRequest, task: Task) -> h.Node:
    zone = find_task_zone(request, task)
    coming = list(islice(list_next_instants(task, request.now), NEXT_INSTANTS))
    if not coming:
        off = task.state == "disabled"
        return h.p(class_="empty")["It is switched off." if off else "It is not due any more."]
    return [
        h.ul[
            (
                h.li[
                    figures.render_moment(at, zone),
                    h.span(class_="soft")[f" {format_time_until(at, request.now)}"],
                ]
                for at in coming
            )
        ],
        h.p(class_="soft")[
            f"In {zone.key}. A time that a change of the clock skips comes right after it, and"
            " one that comes twice counts once."
        ],
    ]


def find_task_zone(request: ScreenRequest, task: Task) -> ZoneInfo:
    """Return the zone in which a task's times are meant."""
    return ZoneInfo(task.spec.timezone) if task.spec.timezone else request.zone


def format_time_until(at: int, now: int) -> str:
    """Format the time until an instant: ``in 5 min``."""
    return f"in {figures.format_span(at - now, rough=True)}" if at > now else "now"


def render_run_strip(runs: Sequence[TaskRun], zone: ZoneInfo) -> h.Node:
    """Render the newest runs as a strip, the newest at the right."""
    if not runs:
        return h.span(class_="soft")["not due yet"]
    failed = sum(run.state in ("failed", "missed") for run in runs)
    label = f"{figures.format_plural(len(runs), 'run')}, {failed} failed or missed"
    width = STRIP * len(runs)
    return h.svg(
        viewBox=f"0 0 {width} 16",
        width=str(width),
        height="16",
        role="img",
        aria_label=label,
        class_="strip",
    )[
        (
            h.rect(class_=run.state, x=str(STRIP * index), width=str(STRIP - 2), height="16")[
                h.title[f"{figures.format_moment(run.scheduled_at, zone)} {run.state}"]
            ]
            for index, run in enumerate(sorted(runs, key=lambda run: run.scheduled_at))
        )
    ]


def _render_row(request: ScreenRequest, task: Task, runs: Sequence[TaskRun]) -> Sequence[h.Node]:
    zone = find_task_zone(request, task)
    coming_at = next(list_next_instants(task, request.now), None)
    return (
        [
            h.a(href=build_link("tasks", str(task.id)), data_row=True, class_="line")[
                h.b[show_hidden_characters(task.name)]
            ],
            h.small[describe_schedule(task)],
        ],
        None
        if coming_at is None
        else [
            figures.render_recent_moment(coming_at, zone, request.now),
            h.small[
                f" {format_time_until(coming_at, request.now)}",
                f" ({_name_place(zone)})" if zone.key != request.zone.key else None,
            ],
        ],
        render_run_strip(runs, request.zone),
        [
            figures.render_state(_choose_state_word(task)),
            h.small[f" {figures.format_plural(task.failures, 'failure')}"]
            if task.failures
            else None,
        ],
        show_hidden_characters(task.agent_id),
        _render_buttons(request, task),
    )


def _name_place(zone: ZoneInfo) -> str:
    return zone.key.rpartition("/")[2].replace("_", " ")


def _render_runs(request: ScreenRequest, runs: Sequence[TaskRun], *, reads: bool) -> h.Node:
    rows = (
        (
            figures.render_recent_moment(run.scheduled_at, request.zone, request.now),
            figures.render_state(run.state),
            h.span(class_="clip")[
                shorten_text(run.note or (run.result or "" if reads else ""), 240)
            ],
            h.a(href=build_link("turns", run.turn_id))["Its turn"] if run.turn_id else None,
        )
        for run in runs
    )
    columns = (TableColumn("Due", "time"), "State", TableColumn("Result", "grow"), ACTIONS)
    return render_table("Runs", columns, rows, "It was not due yet.")


def _render_new_button(request: ScreenRequest) -> h.Node:
    if request.daemon is None or not request.has_right(Right.CHANGE):
        return None
    return render_link_button("New task", "/tasks/new", "do", "add")


def _render_buttons(request: ScreenRequest, task: Task, *, removes: bool = False) -> h.Node:
    if not request.has_right(Right.CHANGE):
        return None
    row = {"id": str(task.id)}
    stands = task.state in ("active", "disabled")
    edits = stands and request.daemon is not None and task.source != "skill"
    switch = (
        render_act_button(request, protocol.TASK_DISABLE, row, "Switch off")
        if task.state == "active"
        else render_act_button(request, protocol.TASK_ENABLE, row, "Switch on")
    )
    return h.div(class_="row")[
        render_act_button(request, protocol.TASK_RUN, row, "Run now"),
        switch,
        render_link_button("Edit", build_link("tasks", str(task.id), "edit")) if edits else None,
        render_link_button("Remove …", build_link("tasks", str(task.id), "edit", remove=1))
        if edits and removes
        else None,
    ]


def _choose_state_word(task: Task) -> str:
    return {"active": "on", "disabled": "off"}.get(task.state, task.state)


def _describe_destination(task: Task) -> str:
    notify = task.spec.notify
    return (
        "nowhere; it is only stored here"
        if notify is None
        else show_hidden_characters(f"{notify.channel}:{notify.chat_id}")
    )


SCREENS = (
    PageScreen("/tasks", "Tasks", Right.LOOK, _show_tasks, "Tasks"),
    PageScreen("/tasks/{task:int}", "A task", Right.LOOK, _show_task, "Tasks"),
)
