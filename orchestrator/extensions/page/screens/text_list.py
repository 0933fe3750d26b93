"""All texts that can be edited, by kind."""

import re
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus

import htpy as h
from starlette.responses import RedirectResponse

from orchestrator.control.editing import EditableFile, EditableFiles
from orchestrator.control.roles import Right
from orchestrator.extensions.page import edit_calls
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import render_button, render_hidden_fields
from orchestrator.extensions.page.html.outside_text import show_hidden_characters
from orchestrator.extensions.page.html.tables import ACTIONS, TableColumn, render_table
from orchestrator.extensions.page.html.vocabulary import (
    render_blank,
    render_field,
    render_link_button,
    render_panel,
)
from orchestrator.extensions.page.reads.text_titles import load_text_titles
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
)
from orchestrator.extensions.page.screens.text_beginnings import KINDS, NEW_PLAYBOOK, TextKind
from orchestrator.extensions.page.screens.text_editor import build_text_link

NEW_ADDRESSES = {"tasks/": "/tasks/new", "playbooks/": build_text_link(NEW_PLAYBOOK)}
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@edit_calls.need_daemon
async def _show_texts(request: ScreenRequest) -> ScreenResult:
    titles = await request.journal(load_text_titles)
    return render_texts(request, await edit_calls.list_texts(request), titles)


@edit_calls.need_daemon
async def _start_text(request: ScreenRequest) -> ScreenResult:
    prefix = request.path["prefix"] + "/"
    kind = KINDS.get(prefix)
    if kind is None or kind.ending is None:
        return render_blank("Such texts are not made by name.", _render_back())
    name = request.form.get("name", "").strip()
    if NAME.fullmatch(name):
        path = build_text_link(f"{prefix}{name}{kind.ending}")
        return RedirectResponse(path, HTTPStatus.SEE_OTHER)
    return render_new_text(request, kind, name)


def render_texts(
    request: ScreenRequest, found: EditableFiles, titles: Mapping[str, str] = {}
) -> TitledContent:
    """Render the texts whose names or ``titles`` contain the words that are searched for."""
    words = request.query.get("q", "").lower().split()
    known = {one.name: f"{titles.get(one.name, '')} {one.name}".lower() for one in found.files}
    wanted = [one for one in found.files if all(word in known[one.name] for word in words)]
    groups = list(_iter_groups(found, wanted))
    return TitledContent(
        "Texts",
        [
            h.form(method="get", class_="filters", role="search")[
                h.label[h.span["Search"], h.input(name="q", value=" ".join(words), type="search")],
                render_button("Show"),
            ],
            [_render_group(request, group, titles) for group in groups],
            None
            if wanted
            else render_blank("No text has such a name.", _render_back(), icon="texts"),
        ],
        lead="Each change is a version that you can go back to.",
        actions=render_link_button("All changes", "/settings#changes", icon="undo"),
    )


def render_new_text(request: ScreenRequest, kind: TextKind, name: str) -> TitledContent:
    """Render the question for the name of a new text."""
    problem = (
        "Use lower-case letters, digits, - and _, beginning with a letter or digit." if name else ""
    )
    return TitledContent(
        f"New: {kind.heading.lower()}",
        h.form(method="post", class_="form", data_kept=True)[
            render_hidden_fields(request),
            render_field(
                "Name",
                h.input(name="name", value=name, required=True, maxlength="64", autofocus=True),
                "A short word, such as morning-note.",
                problem,
            ),
            h.div(class_="row")[render_button("Go on", "do"), _render_back()],
        ],
    )


def _iter_groups(
    found: EditableFiles, wanted: Sequence[EditableFile]
) -> Iterator[tuple[str, str, Sequence[EditableFile]]]:
    """Yield the prefixes of kinds with their headings and texts."""
    prefixes = [*KINDS, *(one for one in sorted(found.prefixes) if one not in KINDS)]
    for prefix in prefixes:
        texts = [one for one in wanted if one.name.startswith(prefix)]
        kind = KINDS.get(prefix)
        made = prefix in NEW_ADDRESSES or (kind is not None and kind.ending is not None)
        if texts or (prefix in found.prefixes and made):
            heading = kind.heading if kind else found.prefixes[prefix].capitalize()
            yield prefix, heading, texts


def _render_group(
    request: ScreenRequest,
    group: tuple[str, str, Sequence[EditableFile]],
    titles: Mapping[str, str],
) -> h.Element:
    prefix, heading, texts = group
    kind = KINDS.get(prefix)
    new = None
    if request.has_right(Right.CHANGE):
        if prefix in NEW_ADDRESSES:
            new = render_link_button("New", NEW_ADDRESSES[prefix], icon="add")
        elif kind is not None and kind.ending is not None:
            new = render_link_button("New", f"/texts-new/{prefix}", icon="add")
    return render_panel(
        heading,
        render_table(
            heading,
            (TableColumn("Name", "grow"), "State", ACTIONS),
            ((*_render_text_row(one, titles.get(one.name, "")),) for one in texts),
            "None yet.",
        ),
        actions=new,
    )


def _render_text_row(one: EditableFile, title: str) -> Sequence[h.Node]:
    name = show_hidden_characters(one.name)
    return (
        h.a(href=build_text_link(one.name), data_row=True)[show_hidden_characters(title) or name],
        figures.render_state("failed", figures.format_plural(one.problems, "problem"))
        if one.problems
        else figures.render_state("ok", "in force"),
        h.a(href=build_text_link(one.name, "history"), aria_label=f"History of {name}")["History"],
    )


def _render_back() -> h.Element:
    return render_link_button("All texts", "/texts")


SCREENS = (
    PageScreen("/texts", "Texts", Right.READ, _show_texts, "Texts", from_journal=False),
    PageScreen(
        "/texts-new/{prefix}/",
        "New",
        Right.CHANGE,
        _start_text,
        "Texts",
        from_journal=False,
        posts=True,
    ),
)
