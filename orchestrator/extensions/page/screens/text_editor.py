"""The editor of a text: checked as one types, with what a change means before it is saved."""

import json
from http import HTTPStatus

import htpy as h
from starlette.responses import RedirectResponse, Response

from orchestrator.control.editing import FILE_UNDO, EditReport, FileText, FileVersion
from orchestrator.control.roles import Right
from orchestrator.extensions.page import edit_calls
from orchestrator.extensions.page.edit_forms import agents_schema
from orchestrator.extensions.page.edit_forms.agents_schema import AGENTS_FILE
from orchestrator.extensions.page.html.edit_report import (
    has_errors,
    render_newest,
    render_report,
    render_save_button,
    render_saved_note,
    was_just_saved,
)
from orchestrator.extensions.page.html.forms import (
    build_link,
    render_act_button,
    render_hidden_fields,
)
from orchestrator.extensions.page.html.outside_text import (
    list_hidden_characters,
    show_hidden_characters,
)
from orchestrator.extensions.page.html.vocabulary import render_link_button, render_note
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
)
from orchestrator.extensions.page.screens import skill_match
from orchestrator.extensions.page.screens.skill_match import MatchedSkills
from orchestrator.extensions.page.screens.text_beginnings import find_beginning
from orchestrator.extensions.page.screens.trial_origin import can_try_text

KEY_HELP = "texts-help"  # below the root of the page
MEANWHILE = "This text was changed while you edited it. "
BOTH = (
    "Nothing is lost: yours is below, and beside it stands what it would change of the present one."
)
BROKEN = "With its errors this text is not used: the last good version is in force."


def build_text_link(name: str, *after: str, **query: str | int | None) -> str:
    """Return the address of a text's editor, or of a screen ``after`` it."""
    return build_link("texts", *name.split("/"), *after, **query)


@edit_calls.need_daemon
async def _show_editor(request: ScreenRequest) -> ScreenResult:
    name = request.path["text"]
    if not request.form:
        found = await edit_calls.read_text(request, name)
        if not found.base and not found.text:
            found = found.model_copy(update={"text": find_beginning(name)})
        report = await edit_calls.check_text(
            request, edit_calls.build_edit(name, found.base, text=found.text)
        )
        saved = None
        if was_just_saved(request):
            saved = await edit_calls.find_newest(request, name)
        return render_editor(request, found, report, saved=saved)
    todo = request.form.get("do")
    edit = edit_calls.build_edit(
        name,
        request.form.get("base", ""),
        text=request.form.get("text", ""),
        why=request.form.get("why", ""),
        anyway=todo == "anyway",
    )
    if todo not in ("save", "anyway"):
        report = await edit_calls.check_text(request, edit)
    else:
        report = await edit_calls.save_text(request, edit)
        if report.saved:
            path = build_text_link(report.name or name, saved=1)
            return RedirectResponse(path, HTTPStatus.SEE_OTHER)
    matches = await skill_match.find_matches(request, name, report.text)
    newest = await edit_calls.find_newest(request, name) if report.conflict else None
    return render_editor(request, report, report, newest=newest, why=edit.why, matches=matches)


def render_editor(
    request: ScreenRequest,
    found: FileText,
    report: EditReport | None,
    *,
    saved: FileVersion | None = None,
    newest: FileVersion | None = None,
    why: str = "",
    matches: MatchedSkills | None = None,
) -> TitledContent:
    """Render a text with the report on it; ``saved`` is the version that was just made.

    ``newest`` is the version that the text met in a conflict.
    """
    name = show_hidden_characters(found.name)
    edits = request.has_right(Right.CHANGE) and request.daemon is not None
    fresh = saved is not None or "fresh" in request.query
    content = [
        h.div(data_kept=True)[
            render_saved_note(request, saved, build_text_link(found.name)) if saved else None,
            _render_conflict(request, report, newest) if report and report.conflict else None,
            _render_broken(request, found, report) if edits and report else None,
            _render_hidden_note(found.text),
            h.form(
                method="post",
                action=build_text_link(found.name),
                class_="editor",
                id="editor",
                data_editor=True,
                data_fresh="1" if fresh else None,
                data_help=f"{KEY_HELP}/{AGENTS_FILE}" if found.name == AGENTS_FILE else None,
            )[
                render_hidden_fields(request, {"base": found.base}),
                h.div(class_="sheet")[
                    h.pre(class_="lines", hidden=True, aria_hidden="true"),
                    h.textarea(
                        name="text",
                        class_="code",
                        aria_label=f"Text of {name}",
                        spellcheck="false",
                        autocomplete="off",
                        readonly=not edits,
                    )["\n" + found.text],
                ],
                h.aside[
                    render_report(
                        report,
                        matches and skill_match.render_matches(matches),
                        opened=found.name != AGENTS_FILE,
                    ),
                    skill_match.render_match_field(request)
                    if found.name.startswith(skill_match.SKILL_NAMES)
                    else None,
                    h.section(id="key-help", hidden=True)[h.h2, h.p],
                    h.p(class_="soft")[h.a(href="/manual/agents-json")["All keys, in the manual"]]
                    if found.name == AGENTS_FILE
                    else None,
                ],
                _render_foot(found, report, why) if edits else None,
            ],
        ],
    ]
    return TitledContent(
        name,
        content,
        lead=show_hidden_characters(found.where) or None,
        actions=[
            render_link_button("History", build_text_link(found.name, "history"), icon="undo"),
            render_link_button("As a form", "/settings", icon="settings")
            if found.name == AGENTS_FILE
            else None,
        ],
    )


async def _send_key_help(request: ScreenRequest) -> Response:
    """Send what each key of agents.json means; the same to everyone."""
    del request
    found = agents_schema.list_key_help(agents_schema.load_schema())
    return Response(json.dumps(found, ensure_ascii=False), media_type="application/json")


def _render_foot(found: FileText, report: EditReport | None, why: str) -> h.Element:
    conflict = report is not None and report.conflict
    return h.div(class_="foot")[
        render_save_button(report, "Save mine over it" if conflict else "Save"),
        h.button(name="do", value="check")["Check"],
        h.button(name="do", value="try", formaction=build_link("try", file=found.name))[
            "Try on the last 10"
        ]
        if can_try_text(found.name)
        else None,
        h.input(
            name="why",
            value=why,
            maxlength="500",
            placeholder="why (optional)",
            aria_label="Why",
        ),
        h.span(class_="soft", id="kept", role="status"),
        h.button(type="button", hidden=True)["Drop it"],
        None if found.base else h.span(class_="soft")["New: it does not exist yet."],
    ]


def _render_broken(request: ScreenRequest, found: FileText, report: EditReport) -> h.Node:
    """Render the way back from a text that has errors as it is; nothing for others."""
    if report.difference or not found.base or not has_errors(report):
        return None
    fields = {"name": found.name, "back": build_text_link(found.name, undone=1)}
    restore = render_act_button(
        request, FILE_UNDO, fields, "Restore the last good version", leaves=True
    )
    return h.div(class_="note bad row", role="status")[h.span[BROKEN], restore]


def _render_hidden_note(text: str) -> h.Node:
    """Name the invisible characters of a text, which stay in it as they are."""
    hidden = list_hidden_characters(text.replace("\r\n", "\n"))
    if not hidden:
        return None
    return render_note("It has characters that cannot be seen: ", " ".join(hidden), kind="warn")


def _render_conflict(
    request: ScreenRequest, report: EditReport, newest: FileVersion | None
) -> h.Node:
    return [
        render_note(
            MEANWHILE,
            render_newest(request, newest),
            BOTH,
            " ",
            h.a(href=build_text_link(report.name, fresh=1))["Start from the present one"],
            kind="warn",
        ),
        h.details[
            h.summary["The present text"],
            h.pre(tabindex="0")[show_hidden_characters(report.present)],
        ],
    ]


SCREENS = (
    PageScreen(f"/{KEY_HELP}/{{name}}", "Keys of agents.json", Right.READ, _send_key_help, "Texts"),
    PageScreen(
        "/texts/{text:path}",
        "A text",
        Right.READ,
        _show_editor,
        "Texts",
        from_journal=False,
        posts=True,
    ),
)
