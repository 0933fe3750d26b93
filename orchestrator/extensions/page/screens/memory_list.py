"""What agents remember: facts with their sources, and the profile."""

import json
import re
from collections.abc import Iterator, Sequence
from http import HTTPStatus

import htpy as h
from pydantic import JsonValue
from starlette.responses import RedirectResponse

from orchestrator.control.camel_model import CamelModel
from orchestrator.control.protocol import Ack, RowId
from orchestrator.control.roles import Right
from orchestrator.extensions.page import edit_calls
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import (
    build_link,
    render_act_button,
    render_button,
    render_hidden_fields,
)
from orchestrator.extensions.page.html.outside_text import (
    is_plain_text,
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.tables import ACTIONS, TableColumn, render_table
from orchestrator.extensions.page.html.vocabulary import (
    render_blank,
    render_choice,
    render_cut_note,
    render_link_button,
    render_panel,
)
from orchestrator.extensions.page.reads import fact_origins
from orchestrator.extensions.page.reads.fact_origins import EDITORS, MemoryPlaces
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
)

FACT_LIST, FACT_EDIT = "memory/list", "memory/edit"
FACT_UNDO, FACT_FORGET = "memory/undo", "memory/forget"
PROFILE_LIST, PROFILE_SET = "profile/list", "profile/set"
NUMBER = re.compile(r"[1-9][0-9]{0,17}")
NEWEST = 2**63 - 1  # above the numbers of all facts
LIMIT = 100  # facts on a screen
NOWHERE = MemoryPlaces()
TYPED = "forget"  # what one types to forget a fact for good


class MemoryQuery(CamelModel):
    """The memory to list; None means all agents, or all chats."""

    agent: str | None = None
    chat: str | None = None
    text: str = ""
    before: int = NEWEST
    limit: int = LIMIT


class ListedFact(CamelModel):
    """A fact; times in milliseconds since the epoch."""

    id: int
    fact: str
    category: str
    source: str
    created_at: int
    agent_id: str
    scope: str
    confidence: float = 1.0
    origin: str = ""  # the source before a person edited it


class ListedFacts(CamelModel):
    """Some of the facts; ``more``: there are older ones."""

    facts: tuple[ListedFact, ...]
    more: bool = False


class ListedField(CamelModel):
    """A field of a profile."""

    agent_id: str
    scope: str
    path: str
    value: JsonValue = None
    source: str | None = None
    at: int | None = None


class ListedFields(CamelModel):
    """Fields of profiles."""

    fields: tuple[ListedField, ...]


@edit_calls.need_daemon
async def _show_memory(request: ScreenRequest) -> ScreenResult:
    query = MemoryQuery(
        agent=request.query.get("agent") or None,
        chat=request.query.get("chat") or None,
        text=request.query.get("q", "")[:500],
        before=_parse_fact_id(request.query.get("before", "")) or NEWEST,
    )
    facts = await edit_calls.ask_extension(request, FACT_LIST, query, ListedFacts)
    profile = await edit_calls.ask_extension(request, PROFILE_LIST, query, ListedFields)
    places = await request.journal(fact_origins.list_memory_places)
    return render_memory(request, await _add_origins(request, facts), profile.fields, places)


async def _add_origins(request: ScreenRequest, found: ListedFacts) -> ListedFacts:
    edited = [one.id for one in found.facts if one.source in EDITORS]
    origins = await request.journal(fact_origins.find_origins, edited) if edited else {}
    facts = [one.model_copy(update={"origin": origins.get(one.id, "")}) for one in found.facts]
    return found.model_copy(update={"facts": tuple(facts)})


@edit_calls.need_daemon
async def _forget_fact(request: ScreenRequest) -> ScreenResult:
    number = _parse_fact_id(request.path["fact"])
    fact = None if number is None else await _find_fact(request, number)
    if number is None or fact is None:
        return render_blank("There is no such fact.", render_link_button("Memory", "/memory"))
    if request.form.get("typed", "").strip().lower() == TYPED:
        row = RowId(id=number)
        await edit_calls.ask_extension(request, FACT_FORGET, row, Ack)
        return RedirectResponse("/memory", HTTPStatus.SEE_OTHER)
    return render_forgetting(request, fact, wrong="typed" in request.form)


async def _find_fact(request: ScreenRequest, number: int) -> ListedFact | None:
    query = MemoryQuery(before=number + 1, limit=1)
    found = await edit_calls.ask_extension(request, FACT_LIST, query, ListedFacts)
    facts = (await _add_origins(request, found)).facts
    return next((one for one in facts if one.id == number), None)


def render_memory(
    request: ScreenRequest,
    found: ListedFacts,
    profile: Sequence[ListedField],
    places: MemoryPlaces = NOWHERE,
) -> TitledContent:
    """Render the facts that the filters find, newest first, and the profile."""
    return TitledContent(
        "Memory",
        [
            _render_search(request, places),
            render_panel(
                "Facts",
                h.ul(class_="items")[(_render_fact(request, one) for one in found.facts)]
                if found.facts
                else render_blank(
                    "Nothing is remembered that fits."
                    if any(request.query.get(name) for name in ("q", "agent", "chat", "before"))
                    else "Nothing is remembered yet.",
                    icon="memory",
                ),
                h.p[
                    h.a(
                        href=build_link(
                            "memory",
                            agent=request.query.get("agent"),
                            chat=request.query.get("chat"),
                            q=request.query.get("q"),
                            before=found.facts[-1].id,
                        )
                    )["Older"]
                ]
                if found.more
                else None,
            ),
            render_panel(
                "Profile",
                render_table(
                    "Profile",
                    ("Field", TableColumn("Value", "grow"), "Whose", "From", ACTIONS),
                    (
                        (*_render_field_row(request, one),)
                        for one in profile
                        if one.value not in ({}, [])
                    ),
                    "Nothing is in a profile yet.",
                ),
            ),
        ],
        lead="What agents know, where from, and how to correct it.",
    )


def _render_search(request: ScreenRequest, places: MemoryPlaces) -> h.Element:
    return h.form(method="get", class_="filters", role="search")[
        h.label[h.span["Search"], h.input(name="q", value=request.query.get("q", ""))],
        _render_place(request, "agent", "Agent", places.agents),
        _render_place(request, "chat", "Chat", places.chats),
        render_button("Show"),
    ]


def _render_place(request: ScreenRequest, name: str, label: str, known: Sequence[str]) -> h.Element:
    chosen = request.query.get(name, "")
    plain = [one for one in dict.fromkeys((*known, chosen)) if one and is_plain_text(one)]
    return h.label[
        h.span[label], render_choice(name, [("", "any"), *((one, one) for one in plain)], chosen)
    ]


def render_forgetting(
    request: ScreenRequest, fact: ListedFact, *, wrong: bool = False
) -> TitledContent:
    """Render the question whether a fact shall go for good."""
    return TitledContent(
        "Forget for good",
        render_panel(
            "This cannot be undone",
            h.blockquote(class_="held")[strip_terminal_codes(fact.fact)],
            h.p(class_="soft")[_iter_fact_notes(request, fact)],
            h.p[
                "The fact is deleted with all its versions, and is not learned again. To take back"
                " the last change instead, use Undo."
            ],
            h.form(method="post", class_="filters", data_kept=True)[
                render_hidden_fields(request),
                h.label[
                    h.span[f"Type the word {TYPED}"],
                    h.input(name="typed", autocomplete="off", required=True),
                ],
                render_button("Forget for good", "danger"),
                render_link_button("Keep it", "/memory"),
            ],
            h.p(class_="problem", role="alert")[f"Type {TYPED}, and nothing else."]
            if wrong
            else None,
        ),
    )


def _render_fact(request: ScreenRequest, one: ListedFact) -> h.Element:
    text = strip_terminal_codes(one.fact)
    return h.li[
        h.p[text],
        h.p(class_="soft")[_iter_fact_notes(request, one)],
        h.div(class_="row")[
            h.details[
                h.summary["Edit"],
                h.form(method="post", action=f"/act/{FACT_EDIT}", class_="act")[
                    render_hidden_fields(request, {"id": str(one.id)}),
                    h.textarea(name="text", rows="2", cols="60", aria_label="What is true")[
                        "\n" + text
                    ],
                    render_button("Save", "do"),
                ],
            ],
            render_act_button(request, FACT_UNDO, {"id": str(one.id)}, "Undo the edit")
            if one.origin
            else None,
            render_link_button("Forget …", build_link("memory", str(one.id), "forget"), "danger"),
        ]
        if request.has_right(Right.CHANGE)
        else None,
    ]


def _iter_fact_notes(request: ScreenRequest, one: ListedFact) -> Iterator[h.Node]:
    yield f"{show_hidden_characters(one.category)} · {show_hidden_characters(one.agent_id)}, "
    yield f"{show_hidden_characters(one.scope) or 'all chats'} · "
    yield figures.render_moment(one.created_at, request.zone)
    kind, _, turn = (one.origin or one.source).partition(" ")
    yield " · "
    if kind in ("turn", "extraction") and turn:
        yield h.a(href=build_link("turns", turn.split()[0]))["where it was said"]
    else:
        yield f"from {show_hidden_characters(one.origin or one.source)}"
    if one.origin:
        yield f", edited by {show_hidden_characters(one.source)}"


def _render_field_row(request: ScreenRequest, one: ListedField) -> Sequence[h.Node]:
    text = one.value if isinstance(one.value, str) else json.dumps(one.value, ensure_ascii=False)
    shown = strip_terminal_codes(text)
    fields = {"agent": one.agent_id, "chat": one.scope, "path": one.path}
    return (
        show_hidden_characters(one.path),
        [shown[:2000], render_cut_note(2000, len(shown))],
        [
            h.div[show_hidden_characters(one.agent_id)],
            h.div(class_="soft")[show_hidden_characters(one.scope) or "all chats"],
        ],
        [
            show_hidden_characters(one.source or ""),
            None
            if one.at is None
            else h.div(class_="soft")[figures.format_age(one.at, request.now)],
        ],
        [
            h.form(method="post", action=f"/act/{PROFILE_SET}", class_="act")[
                render_hidden_fields(request, fields),
                h.input(name="text", value=shown, aria_label="New value", maxlength="2000"),
                render_button("Change"),
            ]
            if isinstance(one.value, str)
            else None,
            render_act_button(
                request, PROFILE_SET, {**fields, "text": ""}, "Remove", kind="danger"
            ),
        ]
        if request.has_right(Right.CHANGE)
        else None,
    )


def _parse_fact_id(text: str) -> int | None:
    return int(text) if NUMBER.fullmatch(text) else None


SCREENS = (
    PageScreen("/memory", "Memory", Right.READ, _show_memory, "Memory", from_journal=False),
    PageScreen("/memory/{fact}/forget", "Forget", Right.CHANGE, _forget_fact, "Memory", posts=True),
)
