"""The list of turns, with filters stored in the address."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import htpy as h

from orchestrator.control.roles import Right
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import build_link, render_button
from orchestrator.extensions.page.html.outside_text import (
    is_plain_text,
    shorten_text,
    show_hidden_characters,
)
from orchestrator.extensions.page.html.tables import TableColumn, render_table
from orchestrator.extensions.page.html.vocabulary import (
    render_blank,
    render_chips,
    render_choice,
    render_note,
)
from orchestrator.extensions.page.reads import stamps, turn_filters
from orchestrator.extensions.page.reads.turn_filters import TurnChoices, TurnQuery
from orchestrator.extensions.page.reads.turn_parts import search_turn_parts
from orchestrator.extensions.page.reads.turn_people import NO_PEOPLE, TurnPeople, load_turn_people
from orchestrator.extensions.page.screen_request import (
    OWN,
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
)
from orchestrator.journal.inspect.turn_search import PAGE, FoundTurn, TurnPage
from thinker.protocol.names import format_chat_name

# The filters as the screen calls them, in its order.
LABELS = {
    "text": "Asked",
    "agent": "Agent",
    "state": "State",
    "tool": "Tool",
    "model": "Model",
    "day": "Day",
    "chat": "Chat",
    "longer": "Longer than (s)",
    "dearer": "Dearer than ($)",
}
RARE = ("chat", "longer", "dearer")  # the last of them, folded
MAX_SORTED = 500  # newest matches that are put in another order than by time
ORDERS: Mapping[str, Callable[[FoundTurn], float]] = {
    "took": lambda turn: (turn.ended or turn.began) - turn.began,
    "tokens": lambda turn: turn.tokens,
    "cost": lambda turn: turn.usd or 0.0,
}
STATES = (
    figures.ANSWERED,
    turn_filters.UNANSWERED,
    turn_filters.UNASKED,
    "running",
    "waiting",
    *dict.fromkeys(figures.ENDS.values()),
    "given up",
)
# What was unusual in a turn: the sign in the list, and what it stands for.
MARKS = {
    "↻": "continued after a crash",
    "◐": "asked a person",
    "?": "unconfirmed call",
    "≈": "answer repaired",
    "☾": "by schedule",
    "↯": "by webhook",
}


class TurnListing(NamedTuple):
    """The found turns, what was looked for, and what there is to choose from."""

    found: TurnPage
    query: TurnQuery
    choices: TurnChoices
    people: TurnPeople = NO_PEOPLE


async def _show_turns(request: ScreenRequest) -> ScreenResult:
    asked = {
        name: value
        for name, value in request.query.items()
        if name != "text" or request.has_right(Right.READ)
    }
    query = turn_filters.parse_turn_query(asked, request.zone, request.now)
    choices = await request.journal(turn_filters.list_turn_choices)
    found = await search_turn_parts(
        request.journal,
        query.wanted,
        request.query.get("before"),
        also=query.also,
        limit=MAX_SORTED if request.query.get("by") in ORDERS else PAGE,
    )
    people = await request.journal(load_turn_people, found.turns)
    return render_turns(request, TurnListing(found, query, choices, people))


def render_turns(request: ScreenRequest, listing: TurnListing) -> TitledContent:
    """Render the list."""
    found, query, _, people = listing
    filtered = bool(query.wanted or query.also)
    turns, by = found.turns, request.query.get("by", "")
    if by in ORDERS:
        turns = sorted(turns, key=ORDERS[by], reverse=True)[:PAGE]
    content = [
        _render_filter_form(request, listing),
        [render_note(problem, kind="warn") for problem in query.problems.values()],
        _render_chosen_filters(request),
        render_turn_list(request, turns, people, sortable=True)
        or render_blank(
            "No turn is like this. Take a filter away." if filtered else "No messages yet.",
            h.a(href="/turns", class_="button")["Show all turns"]
            if filtered
            else h.a(href="/chats/new", class_="button do")["Write the first one"],
            "turns",
        ),
        _render_end_of_list(request, found, len(turns), filtered=filtered),
    ]
    return TitledContent("Turns", content, lead="What was asked, and what became of it")


def render_turn_list(
    request: ScreenRequest,
    turns: Sequence[FoundTurn],
    people: TurnPeople = NO_PEOPLE,
    *,
    sortable: bool = False,
) -> h.Node:
    """Render turns, one a line; nothing if there are no turns.

    Each cell leads to the turns that have it in common.
    """
    heads: list[TableColumn | str] = [
        TableColumn("When", "time", _sort_link(request, "") if sortable else ""),
        TableColumn("Agent", "id"),
        TableColumn("Chat", "id"),
        TableColumn("Asked", "grow"),
        "State",
        TableColumn("Tools", "id"),
        *(
            TableColumn(
                name.capitalize(),
                "number",
                _sort_link(request, name) if sortable else "",
                "descending" if sortable and request.query.get("by") == name else "",
            )
            for name in ORDERS
        ),
        "Marks",
    ]
    return render_table("Turns", heads, (_render_turn_row(request, turn, people) for turn in turns))


def format_turn_tokens(turn: FoundTurn) -> str:
    """Format a turn's tokens, with the share read from a cache."""
    share = f" ({100 * turn.cached // turn.tokens} % cached)" if turn.cached and turn.tokens else ""
    return f"{figures.format_tokens(turn.tokens)}{share}"


def render_turn_state(turn: FoundTurn) -> h.Node:
    """Render the outcome of a turn; one that no model was asked for did not fail at the model."""
    if _is_unasked(turn):
        return figures.render_state("failed", turn_filters.UNASKED)
    return figures.render_turn_outcome(turn.state, turn.stop_reason)


def _is_unasked(turn: FoundTurn) -> bool:
    return turn.stop_reason == "model_error" and not turn.steps and not turn.tokens


def describe_turn_marks(turn: FoundTurn) -> Iterator[str]:
    """Describe what was unusual in a turn."""
    for sign in _list_signs(turn):
        yield f"{sign} {MARKS[sign]}"


def _list_signs(turn: FoundTurn) -> Iterator[str]:
    found = (
        ("↻", turn.deaths),
        ("◐", turn.approvals),
        ("?", turn.unconfirmed),
        ("≈", turn.repaired),
        ("☾", turn.recipe == "proactive"),
        ("↯", turn.recipe == "hook"),
    )
    return (sign for sign, is_so in found if is_so)


def _render_turn_row(
    request: ScreenRequest, turn: FoundTurn, people: TurnPeople
) -> tuple[h.Node, ...]:
    address = build_link("turns", turn.id)
    asked = (
        shorten_text(turn.asked, 160)
        if request.has_right(Right.READ)
        else f"{len(turn.asked)} characters"
    )
    chat, address_of_chat = (
        name_chat(request, turn.chat_key, people),
        format_chat_name(turn.chat_key),
    )
    state = render_turn_state(turn)
    words = _find_state_words(turn)
    return (
        h.a(href=address, data_row=True)[
            figures.render_recent_moment(turn.began, request.zone, request.now)
        ],
        _render_filter_link(request, "agent", turn.agent_id, turn.agent_id),
        _render_filter_link(request, "chat", turn.chat_key, chat, address_of_chat),
        h.a(href=address, class_="by line", title=asked)[asked],
        h.a(href=_build_filter_link(request, "state", words), class_="by")[state],
        [
            [", " if index else None, _render_filter_link(request, "tool", tool, tool)]
            for index, tool in enumerate(dict.fromkeys(turn.tools))
        ],
        _render_time(turn, people.waits.get(turn.id, 0)),
        figures.format_tokens(turn.tokens),
        render_cost(request, turn.usd),
        [
            h.span(title=MARKS[sign], role="img", aria_label=MARKS[sign])[sign]
            for sign in _list_signs(turn)
        ],
    )


def name_chat(request: ScreenRequest, key: str, people: TurnPeople) -> str:
    """Return who writes in a chat for those who may read it, else its address."""
    reads = request.viewer.can_see_chat(key) and not key.startswith(OWN)
    name = people.senders.get(key, "") if reads else ""
    return shorten_text(name, 40) or show_hidden_characters(format_chat_name(key))


def render_cost(request: ScreenRequest, usd: float | None) -> h.Node:
    """Render a cost; an unknown one leads to the form for prices."""
    text = figures.format_usd(usd)
    if usd is not None or not request.has_right(Right.CHANGE):
        return text
    href = build_link("settings", "form", at="prices", new=1)
    return h.a(href=href, title="Set a price; it counts from then on")[text]


def _render_time(turn: FoundTurn, waited: int) -> h.Node:
    """Render how long an answer took, and how long it waited for people meanwhile."""
    if turn.ended is None:
        return ""
    took = figures.format_span(max(0, turn.ended - turn.began - waited))
    if not waited:
        return took
    return [took, h.div(class_="soft")[f"+ {figures.format_span(waited, rough=True)} waiting"]]


def _find_state_words(turn: FoundTurn) -> str:
    """Return the words of the filter that a turn's outcome stands under."""
    if _is_unasked(turn):
        return turn_filters.UNASKED
    if turn.stop_reason in (None, "done", "handed_back"):
        return figures.WORDS.get(turn.state, turn.state)
    return figures.ENDS.get(turn.stop_reason, turn.stop_reason)


def _render_filter_link(
    request: ScreenRequest, name: str, value: str, text: str, about: str = ""
) -> h.Node:
    shown = show_hidden_characters(text)
    title = show_hidden_characters(about) or shown
    return h.a(href=_build_filter_link(request, name, value), class_="by", title=title)[shown]


def _build_filter_link(request: ScreenRequest, name: str, value: str | None) -> str:
    """Return the address with one filter set anew, or taken away with None."""
    own = request.at.startswith("/turns")
    query = {key: request.query.get(key) for key in (*LABELS, "by")} if own else {}
    return build_link("turns", **{**query, name: value})


def _sort_link(request: ScreenRequest, name: str) -> str:
    return _build_filter_link(request, "by", name or None)


def _render_filter_form(request: ScreenRequest, listing: TurnListing) -> h.Node:
    names = [name for name in LABELS if name != "text" or request.has_right(Right.READ)]
    choices = {
        "agent": listing.choices.agents,
        "state": STATES,
        "tool": listing.choices.tools,
        "model": listing.choices.models,
        "day": (*turn_filters.DAYS, *turn_filters.list_days_before(request.zone, request.now)),
    }
    shown = [_render_filter(request, name, choices.get(name)) for name in names]
    common = len(names) - len(RARE)
    opened = any(request.query.get(name) for name in RARE)
    return h.form(method="get", class_="filters", role="search")[
        shown[:common],
        h.details(open=opened)[h.summary["More"], h.div(class_="filters")[shown[common:]]],
        h.input(type="hidden", name="by", value=request.query.get("by", ""))
        if request.query.get("by")
        else None,
        render_button("Show"),
    ]


def _render_filter(request: ScreenRequest, name: str, choices: Sequence[str] | None) -> h.Element:
    value = request.query.get(name, "")
    label = h.span[LABELS[name]]
    if choices is None:
        kind = "decimal" if name in turn_filters.NUMBERS else None
        return h.label[label, h.input(name=name, value=value, inputmode=kind, maxlength="200")]
    # A value may also be written into the address; one with hidden characters only there.
    known = [one for one in dict.fromkeys((*choices, value)) if is_plain_text(one)]
    listed = [("", "any"), *((one, one) for one in known if one)]
    return h.label[label, render_choice(name, listed, value)]


def _render_chosen_filters(request: ScreenRequest) -> h.Node:
    chosen = [
        (
            [f"{LABELS[name].lower()}: {_name_value(name, value)} ", h.b["✕"]],
            _build_filter_link(request, name, None),
            True,
        )
        for name in LABELS
        if (value := request.query.get(name, ""))
        and (name != "text" or request.has_right(Right.READ))
    ]
    return render_chips(chosen, "Filters; a click takes one away") if chosen else None


def _name_value(name: str, value: str) -> str:
    return show_hidden_characters(format_chat_name(value) if name == "chat" else value)


def _render_end_of_list(
    request: ScreenRequest, found: TurnPage, shown: int, *, filtered: bool
) -> h.Node:
    by = request.query.get("by", "")
    if by in ORDERS:
        words = f"The {figures.format_count(shown)} highest of {len(found.turns)} turns"
    else:
        words = figures.format_plural(shown, "turn")
    if filtered or by in ORDERS:
        words += f" among the newest {figures.format_count(found.looked_at)}"
    query = {key: request.query.get(key) for key in (*LABELS, "by")}
    older = build_link("turns", **query, before=found.before)
    return h.p(class_="soft")[
        words, ". ", h.a(href=older)["Older turns ▸"] if found.before else None
    ]


SCREENS = (
    PageScreen(
        "/turns",
        "Turns",
        Right.LOOK,
        _show_turns,
        "Turns",
        stamp=stamps.read_newest_work,
        when_cut="Look for less: an agent or a chat alone is found fastest.",
    ),
)
