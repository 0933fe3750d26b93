"""The versions of a text: who changed what, when and why, and the way back."""

from collections.abc import Iterable, Sequence

import htpy as h

from orchestrator.control.editing import (
    FILE_UNDO,
    EditReport,
    FileHistory,
    FileText,
    FileVersion,
)
from orchestrator.control.roles import Right
from orchestrator.extensions.page import edit_calls
from orchestrator.extensions.page.edit_forms.agents_schema import AGENTS_FILE
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.edit_report import render_report, render_sentences
from orchestrator.extensions.page.html.forms import render_act_button
from orchestrator.extensions.page.html.outside_text import (
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.vocabulary import (
    render_blank,
    render_link_button,
    render_panel,
)
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
)
from orchestrator.extensions.page.screens.text_editor import build_text_link


@edit_calls.need_daemon
async def _show_history(request: ScreenRequest) -> ScreenResult:
    name, number = request.path["text"], request.query.get("version", "")
    history = await edit_calls.load_history(request, name)
    chosen = next((one for one in history.versions if str(one.number) == number), None)
    if chosen is None:
        return render_history(request, history)
    old = await edit_calls.read_text(request, name, chosen.number)
    present = await edit_calls.read_text(request, name)
    edit = edit_calls.build_edit(name, present.base, text=old.text)
    report = await edit_calls.check_text(request, edit)
    newest = chosen == history.versions[0]
    return render_version(request, chosen, old, None if newest else report)


def render_history(request: ScreenRequest, history: FileHistory) -> TitledContent:
    """Render all versions of a text."""
    name = show_hidden_characters(history.name)
    return TitledContent(
        f"History of {name}",
        render_panel("Versions", render_changes(request, history.versions, name=False))
        if history.versions
        else render_blank(
            "No version yet: the first change makes one.",
            render_link_button("Edit", build_text_link(history.name)),
            icon="undo",
        ),
        lead="50 versions are kept, without secrets.",
        actions=render_link_button("Edit", build_text_link(history.name), icon="edit"),
    )


def render_version(
    request: ScreenRequest, version: FileVersion, old: FileText, report: EditReport | None
) -> TitledContent:
    """Render a version, and what going back to it would change; None for the present one."""
    name = show_hidden_characters(old.name)
    return TitledContent(
        f"{name}, version {version.number}",
        [
            _render_origin(request, version),
            h.p(class_="soft")["This is the text in force."]
            if report is None
            else render_panel(
                "If you go back to it",
                render_report(report, opened=old.name != AGENTS_FILE),
                render_act_button(
                    request,
                    FILE_UNDO,
                    {
                        "name": old.name,
                        "number": str(version.number),
                        "back": build_text_link(old.name, undone=1),
                    },
                    "Go back to this",
                    kind="do",
                    leaves=True,
                )
                if request.has_right(Right.CHANGE)
                else None,
            ),
            render_panel("The whole text", h.pre(tabindex="0")[show_hidden_characters(old.text)]),
        ],
        actions=render_link_button("All versions", build_text_link(old.name, "history")),
    )


def render_changes(
    request: ScreenRequest, versions: Iterable[FileVersion], *, name: bool
) -> h.Element:
    """Render versions as a list; ``name`` says of which text each is."""
    return h.ul(class_="items changes")[
        (h.li[_render_change(request, version, name=name)] for version in versions)
    ]


def _render_change(request: ScreenRequest, version: FileVersion, *, name: bool) -> Sequence[h.Node]:
    link = build_text_link(version.name, "history", version=version.number)
    shown = show_hidden_characters(version.name)
    return (
        h.div(class_="top")[
            h.a(href=link, data_row=True)[
                h.strong[f"{shown} · " if name else None, f"version {version.number}"]
            ],
            _render_origin(request, version),
        ],
        render_sentences(version.sentences) if version.sentences else None,
    )


def _render_origin(request: ScreenRequest, version: FileVersion) -> h.Element:
    why = strip_terminal_codes(version.why)
    return h.span(class_="soft")[
        figures.render_moment(version.at, request.zone),
        f" by {show_hidden_characters(version.by)}",
        f": “{why}”" if why else None,
    ]


SCREENS = (
    PageScreen(
        "/texts/{text:path}/history",
        "History",
        Right.READ,
        _show_history,
        "Texts",
        from_journal=False,
    ),
)
