"""A form for a task: who does what, when, and where the result goes; with its next instants."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple
from zoneinfo import ZoneInfo

import htpy as h
from pydantic import JsonValue
from starlette.responses import RedirectResponse

from orchestrator.config_problem import Problem
from orchestrator.control.camel_model import CamelModel
from orchestrator.control.editing import EditReport, FileText
from orchestrator.control.roles import Right
from orchestrator.editable import format_json_text
from orchestrator.extensions.page import edit_calls
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.edit_report import REPORT, render_problems, render_sentences
from orchestrator.extensions.page.html.forms import build_link, render_hidden_fields
from orchestrator.extensions.page.html.outside_text import (
    list_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.vocabulary import (
    render_blank,
    render_choice,
    render_field,
    render_link_button,
    render_note,
)
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
)
from orchestrator.extensions.page.screens.known_agents import (
    KnownAgents,
    has_agent,
    load_known_agents,
    render_agent_choice,
)
from orchestrator.extensions.page.screens.text_editor import build_text_link
from orchestrator.timezones import load_zone_or_utc
from thinker.protocol.messages import JsonObject
from thinker.protocol.peer import RpcError

TASK_CHECK = "tasks/check"
NEW = "new"
NO_BASE = ""  # of a text that does not exist yet
NO_TASK = "This task does not exist."
TIMES = ("schedule", "interval_minutes", "at")  # fields of which a task has one
EXAMPLES = (
    "daily at 8:30",
    "weekdays at 8:30",
    "mondays at 9:00",
    "every 2 hours",
    "30 8 * * 1-5",
)


class TaskDraft(CamelModel):
    """The text of a task that is being edited."""

    text: str


class NextInstants(CamelModel):
    """The next instants of a task, in milliseconds since the epoch."""

    times: tuple[int, ...]
    timezone: str


class TaskLook(NamedTuple):
    """What the form shows: the values, what they would change, and when the task would run."""

    values: Mapping[str, str]
    report: EditReport | None = None
    instants: NextInstants | None = None
    base: str = NO_BASE


@edit_calls.need_daemon
async def _show_task_form(request: ScreenRequest) -> ScreenResult:
    number = request.path.get("task", NEW)
    name = f"tasks/{number}"
    file = FileText(name=name, text="", base=NO_BASE)
    if number != NEW:
        file = await edit_calls.read_text(request, name)
        if not file.base:
            return render_blank(NO_TASK, render_link_button("All tasks", "/tasks"), "tasks")
    agents = await load_known_agents(request)
    if "remove" in request.query and number != NEW:
        return await _remove_task(request, file)
    if not request.form:
        values = {"when": EXAMPLES[0], **read_values(file.text)}
        if list_hidden_characters(" ".join(values.values())):
            return RedirectResponse(build_text_link(name), HTTPStatus.SEE_OTHER)  # shows them
        asked = request.query.get("agent", "")
        if number == NEW and await has_agent(request, agents, asked):
            values["agent"] = asked
        return render_task_form(request, TaskLook(values, base=file.base), agents)
    text = build_task_text(file.text, request.form)
    edit = edit_calls.build_edit(name, request.form.get("base", NO_BASE), text=text)
    if request.form.get("do") == "save":
        report = await edit_calls.save_text(request, edit)
        if report.saved:
            return _open_saved(report.name)
    else:
        report = await edit_calls.check_text(request, edit)
    look = TaskLook(request.form, report, await _find_instants(request, text), report.base)
    return render_task_form(request, look, agents)


async def _remove_task(request: ScreenRequest, file: FileText) -> ScreenResult:
    """Ask whether the task shall go, or remove it; an undo brings it back with its runs."""
    edit = edit_calls.build_edit(file.name, request.form.get("base") or file.base)
    if request.form.get("do") == "remove":
        report = await edit_calls.save_text(request, edit)
        if report.saved:
            return _open_saved(file.name)
    else:
        report = await edit_calls.check_text(request, edit)
    content = h.form(method="post", class_="form wide", data_kept=True)[
        render_hidden_fields(request, {"base": report.base}),
        _render_task_report(request, TaskLook({}, report)),
        h.div(class_="foot")[
            h.button(class_="danger", name="do", value="remove")["Remove"],
            render_link_button("Cancel", build_link(*file.name.split("/"))),
        ],
    ]
    name = strip_terminal_codes(read_values(file.text).get("name", file.name))
    return TitledContent(f"Remove task {name}", content)


def _open_saved(name: str) -> RedirectResponse:
    return RedirectResponse(build_link(*name.split("/"), saved=1), HTTPStatus.SEE_OTHER)


async def _find_instants(request: ScreenRequest, text: str) -> NextInstants | None:
    """Return when a task would run; None while its text has a fault, which its report names."""
    try:
        return await edit_calls.ask_extension(
            request, TASK_CHECK, TaskDraft(text=text), NextInstants
        )
    except RpcError:
        return None


def read_values(text: str) -> dict[str, str]:
    """Return the values of the form for the text of a task; none for one that is no JSON."""
    fields = _read_fields(text)
    values = {
        name: str(fields[name])
        for name in ("agent", "name", "instructions", "timezone", "notify")
        if fields.get(name) is not None
    }
    if isinstance(minutes := fields.get("interval_minutes"), int):
        hours, rest = divmod(minutes, 60)
        span = f"{hours} hours" if hours and not rest else f"{minutes} minutes"
        values["when"] = f"every {span}"
    elif when := fields.get("schedule") or fields.get("at"):
        values["when"] = str(when)
    values["enabled"] = "no" if fields.get("enabled") is False else "yes"
    return values


def build_task_text(present: str, form: Mapping[str, str]) -> str:
    """Return the text of a task with the values of the form; other fields stay as they are."""
    fields = _read_fields(present)
    for name in ("agent", "name", "instructions", "timezone", "notify"):
        value = form.get(name, "").replace("\r\n", "\n").strip()
        if value:
            fields[name] = value
        else:
            fields.pop(name, None)
    when = form.get("when", "").strip()
    if when != read_values(present).get("when"):
        for name in TIMES:
            fields.pop(name, None)
        fields["at" if when[:4].isdecimal() and "-" in when else "schedule"] = when
    fields["enabled"] = form.get("enabled") != "no"
    return format_json_text(fields)


def render_task_form(request: ScreenRequest, look: TaskLook, agents: KnownAgents) -> TitledContent:
    """Render the form, with what its values would do beside it."""
    values, number = look.values, request.path.get("task", NEW)
    chosen = values.get("agent") or next(iter(agents.names), "")
    return TitledContent(
        "New task" if number == NEW else f"Task {strip_terminal_codes(values.get('name', number))}",
        h.form(
            method="post",
            class_="editor",
            id="editor",
            data_kept=True,
            data_preview=True,
            autocomplete="off",
        )[
            render_hidden_fields(request, {"base": look.base}),
            h.div(class_="form wide")[
                render_field("Name", _render_input("name", values, required=True), "A few words."),
                render_field(
                    "Agent",
                    render_agent_choice("agent", agents, chosen),
                    "Who does it. It stays with this agent.",
                ),
                render_field(
                    "What to do",
                    h.textarea(name="instructions", rows="5", required=True)[
                        "\n" + values.get("instructions", "")
                    ],
                    "As you would write it to the agent.",
                ),
                render_field(
                    "When",
                    [
                        _render_input("when", values, required=True, listed="examples"),
                        h.datalist(id="examples")[(h.option(value=one) for one in EXAMPLES)],
                    ],
                    "In words, such as weekdays at 8:30 or every 2 hours; as a cron expression; or"
                    " once, such as 2027-03-01T09:00.",
                ),
                render_field(
                    "Time zone",
                    _render_input("timezone", values, hint=request.zone.key),
                    "Empty: that of the agent.",
                ),
                render_field(
                    "Result goes to",
                    _render_input("notify", values, hint="telegram:42"),
                    "A chat; empty: it is kept in the journal only.",
                ),
                render_field(
                    "Switched on",
                    render_choice(
                        "enabled", [("yes", "Yes"), ("no", "No")], values.get("enabled", "yes")
                    ),
                ),
                h.div(class_="foot")[
                    h.button(class_="do", name="do", value="save")["Save"],
                    h.button(name="do", value="check")["Check"],
                    render_link_button("Cancel", "/tasks"),
                ],
            ],
            h.aside[_render_task_report(request, look)],
        ],
        lead="It runs by itself.",
        actions=None
        if number == NEW
        else render_link_button("As a text", build_text_link("tasks", number), icon="texts"),
    )


def _render_task_report(request: ScreenRequest, look: TaskLook) -> h.Element:
    report = look.report
    zone = request.zone if look.instants is None else _load_zone(look.instants.timezone)
    return h.section(id=REPORT, class_="report", aria_live="polite")[
        render_note("It was changed meanwhile. Look at it again, and save.", kind="warn")
        if report is not None and report.conflict
        else None,
        [h.h2["It cannot be saved yet"], render_problems(report.problems, _omit_place)]
        if report is not None and report.problems
        else None,
        [h.h2["What this changes"], render_sentences(report.sentences)]
        if report is not None and report.sentences
        else None,
        [
            h.h2["Next"],
            h.ul[(h.li[figures.render_moment(at, zone)] for at in look.instants.times)],
            h.p(class_="soft")[f"In {zone.key}."],
        ]
        if look.instants is not None
        else None,
        h.p(class_="soft")["Its next five instants appear here."] if report is None else None,
    ]


def _omit_place(problem: Problem) -> h.Node:
    """Return nothing: the form has no lines."""
    del problem
    return ()


def _render_input(
    name: str,
    values: Mapping[str, str],
    *,
    required: bool = False,
    hint: str | None = None,
    listed: str | None = None,
) -> h.Node:
    return h.input(
        name=name,
        value=values.get(name, ""),
        required=required,
        placeholder=hint,
        list=listed,
        autocomplete="off",
    )


def _load_zone(name: str) -> ZoneInfo:
    return load_zone_or_utc(name, {})


def _read_fields(text: str) -> JsonObject:
    try:
        fields: JsonValue = json.loads(text or "{}")
    except (RecursionError, ValueError):
        return {}
    return fields if isinstance(fields, dict) else {}


SCREENS = (
    PageScreen(
        "/tasks/new",
        "New task",
        Right.CHANGE,
        _show_task_form,
        "Tasks",
        from_journal=False,
        posts=True,
    ),
    PageScreen(
        "/tasks/{task:int}/edit",
        "A task",
        Right.CHANGE,
        _show_task_form,
        "Tasks",
        from_journal=False,
        posts=True,
    ),
)
