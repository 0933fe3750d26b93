"""A form for a part of agents.json: an agent, a binding, a tool server, a channel.

The form asks what its changes would do, and the text that was looked at is the one that is saved.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus

import htpy as h
from pydantic import JsonValue
from starlette.responses import RedirectResponse

from orchestrator.config_problem import Problem
from orchestrator.control.editing import EditReport, FileText, ValueChange
from orchestrator.control.roles import Right
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.page import edit_calls
from orchestrator.extensions.page.edit_forms import agents_schema, field_values, form_fields
from orchestrator.extensions.page.edit_forms.agents_schema import AGENTS_FILE, PartPath
from orchestrator.extensions.page.edit_forms.form_fields import FormField
from orchestrator.extensions.page.edit_forms.part_words import (
    ONE_OF,
    describe_jail,
    describe_name,
    describe_removal,
    name_line,
    name_new_part,
    name_part,
)
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.edit_report import (
    has_errors,
    render_newest,
    render_report,
    render_save_button,
)
from orchestrator.extensions.page.html.field_controls import (
    render_form_field,
    render_hidden_values,
)
from orchestrator.extensions.page.html.forms import (
    build_link,
    render_hidden_fields,
)
from orchestrator.extensions.page.html.outside_text import show_hidden_characters
from orchestrator.extensions.page.html.vocabulary import (
    render_field,
    render_link_button,
    render_note,
    render_panel,
)
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
)
from orchestrator.extensions.page.screens.field_offers import (
    FieldOffers,
    load_offers,
    render_copies,
)
from thinker.protocol.messages import JsonObject

NEW_NAME = "new-name"  # the control for the name of a part that is kept by name
MAX_NAME = 200  # characters
MEANWHILE = (
    "agents.json was changed meanwhile. ",
    "Your values are still here; look at them, and go on.",
)


@dataclass(frozen=True)
class EditedPart:
    """A part of agents.json with its fields; a ``new`` one is added to the part at ``at``."""

    at: PartPath
    file: FileText
    value: JsonValue
    schema: JsonObject
    fields: Sequence[FormField]
    new: bool = False
    named: bool = False  # whether a new part is kept by a name
    problems: Mapping[str, str] = field(default_factory=dict)
    note: h.Node = None
    offers: FieldOffers = field(default_factory=dict)


@edit_calls.need_daemon
async def _show_form(request: ScreenRequest) -> ScreenResult:
    if not request.query.get("at"):
        return RedirectResponse("/settings", HTTPStatus.SEE_OTHER)
    part = await _load_part(request)
    todo = request.form.get("do", "")
    if todo in ("save", "anyway"):
        return await _save_text(request, part)
    if todo == "check":
        return await _check_changes(request, part)
    if todo == "remove":
        change = ValueChange(path=part.at, remove=True)
        return await _preview(request, part, [change])
    return render_form(request, part)


async def _load_part(request: ScreenRequest) -> EditedPart:
    """Return the part of the file that the address names.

    Raises:
        OrchestratorError: the file has no such part, or is no JSON.
    """
    file = await edit_calls.read_text(request, AGENTS_FILE)
    whole = _parse_file(file)
    root = agents_schema.load_schema()
    at = agents_schema.parse_path(request.query.get("at", ""))
    new, value = "new" in request.query, agents_schema.find_value(whole, at)
    schema = agents_schema.find_part_schema(root, at)
    if new and schema is not None:
        schema, held = agents_schema.find_item_schema(root, schema), value
        if at and at[-1] == agents_schema.ACCOUNTS:
            schema = agents_schema.find_part_schema(root, at[:-1])
        named, value = not _is_list(root, at), None
        if not named:
            at = (*at, len(held) if isinstance(held, list) else 0)
    else:
        named = False
    missing = not new and value is None and len(at) > 1 and at[-2] in ONE_OF
    if schema is None or "properties" not in schema or not at or missing:
        raise OrchestratorError("agents.json has no such part; go back to the settings")
    fields = form_fields.list_form_fields(root, schema, value)
    offers: FieldOffers = {}
    if request.form.get("do") not in ("save", "anyway"):
        offers = await load_offers(request, str(schema.get("title", "")), whole)
    return EditedPart(at, file, value, schema, fields, new, named, offers=offers)


async def _check_changes(request: ScreenRequest, part: EditedPart) -> ScreenResult:
    changed, problems = field_values.read_form(part.fields, request.form, part.value)
    at = part.at
    if part.named:
        name = request.form.get(NEW_NAME, "").strip()
        fault = _find_name_fault(part, name)
        problems = {**problems, **({NEW_NAME: fault} if fault else {})}
        at = (*at, name)
    if problems:
        return render_form(request, _with(part, problems=problems))
    if request.form.get("base") != part.file.base:
        return render_form(request, _with(part, note=await _explain_conflict(request)))
    if not changed and not part.new:
        return render_form(request, _with(part, note="Nothing was changed."))
    return await _preview(request, part, field_values.list_value_changes(at, part.value, changed))


async def _preview(
    request: ScreenRequest, part: EditedPart, changes: Sequence[ValueChange]
) -> ScreenResult:
    edit = edit_calls.build_edit(AGENTS_FILE, part.file.base, changes=changes)
    return await _render_checked(request, part, await edit_calls.check_text(request, edit))


async def _render_checked(
    request: ScreenRequest, part: EditedPart, report: EditReport
) -> ScreenResult:
    present = edit_calls.build_edit(AGENTS_FILE, part.file.base, text=part.file.text)
    earlier = await edit_calls.check_text(request, present)
    return render_preview(request, part, report, earlier.problems)


async def _explain_conflict(request: ScreenRequest) -> h.Node:
    newest = await edit_calls.find_newest(request, AGENTS_FILE)
    return [MEANWHILE[0], render_newest(request, newest), MEANWHILE[1]]


async def _save_text(request: ScreenRequest, part: EditedPart) -> ScreenResult:
    text, base = request.form.get("text", ""), request.form.get("base", "")
    edit = edit_calls.build_edit(
        AGENTS_FILE,
        base,
        text=text,
        why=request.form.get("why", ""),
        anyway=request.form.get("do") == "anyway",
    )
    report = await edit_calls.save_text(request, edit)
    if report.saved:
        return RedirectResponse(_choose_next(request, part), HTTPStatus.SEE_OTHER)
    if report.conflict:
        return render_form(request, _with(part, note=await _explain_conflict(request)))
    return await _render_checked(request, part, report)


def render_form(request: ScreenRequest, part: EditedPart) -> TitledContent:
    """Render the fields: the frequent ones, and the rest under More."""
    frequent = [one for one in part.fields if one.frequent] or list(part.fields)
    rest = [one for one in part.fields if one not in frequent]
    wrong = any(one.name in part.problems for one in rest)
    jail = describe_jail(part.schema, part.value)
    content = h.div(data_kept=True)[
        render_note(part.note, kind="warn") if part.note else None,
        render_note("Some values cannot be used yet; see below.", kind="bad")
        if part.problems
        else None,
        render_copies(_parse_file(part.file)) if part.new and part.at[0] == "agents" else None,
        h.form(method="post", class_="form wide", autocomplete="off")[
            render_hidden_fields(request, {"base": part.file.base}),
            _render_new_name(request, part) if part.named else None,
            (_render_one(request, part, one) for one in frequent),
            render_note(jail) if jail else None,
            h.details(open=wrong or None)[
                h.summary[f"More: {figures.format_plural(len(rest), 'setting')}"],
                h.div(class_="form")[(_render_one(request, part, one) for one in rest)],
            ]
            if rest
            else None,
            h.div(class_="foot")[
                render_named_button("check", "See what this changes", "do"),
                render_link_button("Cancel", _find_way_back(request, part)),
                None
                if part.new or not _can_be_removed(part)
                else render_named_button("remove", "Remove …", "danger"),
            ],
        ],
    ]
    title = name_new_part(part.at) if part.new else name_part(part.at, part.value)
    return TitledContent(title, content, lead="agents.json")


def render_preview(
    request: ScreenRequest,
    part: EditedPart,
    report: EditReport,
    earlier: Collection[Problem] = (),
) -> TitledContent:
    """Render what a filled-in form changes, with the way to save exactly that, and back.

    ``earlier`` are the problems of the present file.
    """
    names = [NEW_NAME, *(one.name for one in part.fields)]
    removal = describe_removal(part.schema) if request.form.get("do") == "remove" else ""
    blocked = has_errors(report) or report.conflict
    content = h.div(data_kept=True)[
        render_note(removal, kind="warn") if removal else None,
        render_note("".join(MEANWHILE), kind="warn") if report.conflict else None,
        h.form(method="post", class_="form wide")[
            render_hidden_fields(request, {"base": report.base}),
            h.textarea(name="text", hidden=True, aria_hidden="true")["\n" + report.text],
            render_hidden_values(request.form, names),
            render_panel(
                "Before it is saved",
                render_report(
                    report, render_place=partial(_render_place, report.text), earlier=earlier
                ),
            ),
            None
            if blocked
            else render_field(
                "Why", h.input(name="why", maxlength="500"), "Optional; kept with the version."
            ),
            h.div(class_="foot")[
                None if blocked else render_save_button(report),
                render_named_button("edit", "Change something"),
                None if blocked else _render_trial_button(part),
            ],
        ],
    ]
    title = name_new_part(part.at) if part.new else name_part(part.at, part.value)
    return TitledContent(title, content, lead="what this changes")


def _render_trial_button(part: EditedPart) -> h.Node:
    """Render the button that tries earlier turns of an agent as it is edited."""
    agent = agents_schema.find_value(part.value, ("agentId",))
    if part.at[0] != "agents" or part.new or not isinstance(agent, str):
        return None
    path = build_link("try", file=AGENTS_FILE, agent=agent)
    return h.button(name="do", value="try", formaction=path)["Try on the last 10"]


def _render_place(text: str, problem: Problem) -> h.Node:
    """Render the part and the field that a problem is about, unless its message names them."""
    name = name_line(text, problem.line)
    if not name or (problem.agent_id and f"'{problem.agent_id}'" in problem.message):
        return None
    return [h.strong[show_hidden_characters(name)], ": "]


def render_named_button(value: str, label: str, kind: str = "") -> h.Element:
    """Render a button that sends its form with ``do`` set to a value."""
    return h.button(name="do", value=value, class_=kind or None)[label]


def build_form_link(*at: str | int, **query: str | int | None) -> str:
    """Return the address of the form for a part of agents.json."""
    return build_link("settings", "form", at=agents_schema.format_path(at), **query)


def _render_one(request: ScreenRequest, part: EditedPart, one: FormField) -> h.Node:
    value = agents_schema.find_value(part.value, one.path)
    if one.kind == "parts":
        return _render_held_parts(part, one, value)
    text = request.form.get(one.name)
    if text is None:
        text = request.query.get(one.name) if part.new else None
    if text is None:
        text = field_values.format_value(one, value)
    offered = part.offers.get(one.name)
    return render_form_field(one, text, part.problems.get(one.name, ""), offered)


def _render_held_parts(part: EditedPart, one: FormField, value: JsonValue) -> h.Node:
    """Render links to the forms of what a list or a named collection holds."""
    if part.new:
        return None
    at = (*part.at, *one.path)
    keys = (
        list(value)
        if isinstance(value, dict)
        else range(len(value) if isinstance(value, list) else 0)
    )
    return h.div(class_="field")[
        h.label[one.label],
        h.div(class_="row")[
            (render_link_button(str(key), build_form_link(*at, key), icon="edit") for key in keys),
            render_link_button("Add", build_form_link(*at, new=1), icon="add"),
        ],
        h.p(class_="help")[one.help],
    ]


def _render_new_name(request: ScreenRequest, part: EditedPart) -> h.Element:
    value = request.form.get(NEW_NAME, request.query.get("name", ""))
    return render_field(
        "Name",
        h.input(name=NEW_NAME, value=value, required=True, maxlength=str(MAX_NAME)),
        describe_name(part.at),
        part.problems.get(NEW_NAME, ""),
    )


def _find_name_fault(part: EditedPart, name: str) -> str:
    whole = _parse_file(part.file)
    rule = agents_schema.find_name_rule(agents_schema.load_schema(), part.at)
    if not 0 < len(name) <= MAX_NAME or not re.search(rule, name):
        return f"this cannot be its name: {describe_name(part.at)}"
    if agents_schema.find_value(whole, (*part.at, name)) is not None:
        return "this name is taken; choose another one"
    return ""


def _choose_next(request: ScreenRequest, part: EditedPart) -> str:
    """Return where one goes on after saving: where the form was begun, or the settings."""
    agent = _find_agent(request)
    if not agent and part.at[0] == "agents":
        agent = request.form.get("field.agentId", "")
    if agent:
        return build_link("agents", agent, saved=1)
    return "/settings?saved=1"


def _find_agent(request: ScreenRequest) -> str:
    """Return the agent on whose screen the form was begun; empty if it was begun elsewhere."""
    return request.query.get("agent") or request.query.get("field.agentId", "")


def _find_way_back(request: ScreenRequest, part: EditedPart) -> str:
    agent = _find_agent(request)
    if part.at[0] == "agents":
        agent = agent or str(agents_schema.find_value(part.value, ("agentId",)) or "")
        return build_link("agents", agent) if agent else "/agents"
    return build_link("agents", agent) if agent else "/settings"


def _parse_file(file: FileText) -> JsonValue:
    try:
        found: JsonValue = json.loads(file.text)
    except (RecursionError, ValueError) as error:
        raise OrchestratorError(f"agents.json is no JSON, so edit it as a text: {error}") from error
    return found


def _is_list(root: JsonObject, at: PartPath) -> bool:
    schema = agents_schema.find_part_schema(root, at)
    return schema is not None and schema.get("type") == "array"


def _can_be_removed(part: EditedPart) -> bool:
    """Return whether the part is one of several, which can go."""
    holder = str(part.at[-2]) if len(part.at) > 1 else ""
    return isinstance(part.value, dict) and holder in ONE_OF


def _with(part: EditedPart, *, problems: Mapping[str, str] = {}, note: h.Node = None) -> EditedPart:
    return replace(part, problems=problems, note=note)


@edit_calls.need_daemon
async def _start_server(request: ScreenRequest) -> ScreenResult:
    del request
    return RedirectResponse(build_form_link("mcpServers", new=1), HTTPStatus.SEE_OTHER)


SCREENS = (
    PageScreen("/tools/servers/new", "Add a tool server", Right.CHANGE, _start_server, "Tools"),
    PageScreen(
        "/settings/form",
        "Settings",
        Right.CHANGE,
        _show_form,
        "Settings",
        from_journal=False,
        posts=True,
    ),
)
