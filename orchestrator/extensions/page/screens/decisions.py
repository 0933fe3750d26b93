"""The inbox: everything that waits for a person, and past decisions."""

from collections.abc import Mapping, Sequence
from urllib.parse import quote

import htpy as h

from orchestrator.control.roles import Right
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.layout import render_split
from orchestrator.extensions.page.html.outside_text import show_hidden_characters
from orchestrator.extensions.page.html.tables import TableColumn, render_table
from orchestrator.extensions.page.html.vocabulary import (
    render_blank,
    render_link_button,
    render_panel,
)
from orchestrator.extensions.page.reads.decision_log import AuditEntry
from orchestrator.extensions.page.reads.waiting_list import (
    WaitingList,
    load_question,
    load_waiting_list,
)
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
)
from orchestrator.extensions.page.screens import stopped_cards, waiting_cards
from orchestrator.extensions.page.screens.call_questions import render_question
from orchestrator.extensions.page.screens.changed_tools import ChangedTool, load_changed_tools
from orchestrator.extensions.page.screens.composer import list_writable_agents
from orchestrator.extensions.page.screens.decision_words import describe_decision
from orchestrator.extensions.page.screens.known_agents import NOT_KNOWN, KnownAgents
from orchestrator.extensions.page.screens.waiting_cards import KnownTexts, WaitingCard


async def _show_inbox(request: ScreenRequest) -> ScreenResult:
    found = await request.journal(load_waiting_list, request.now)
    changes = await load_changed_tools(request) if found.tools else {}
    agents = await list_writable_agents(request) if found.chats else NOT_KNOWN
    return TitledContent(
        "Inbox", render_inbox(request, found, changes, agents), split=bool(found.count_items())
    )


async def _show_question(request: ScreenRequest) -> ScreenResult:
    code = request.path["code"]
    questions, tools = await request.journal(load_question, code, request.now)
    if not questions:
        return render_blank(
            "This question was answered, withdrawn or has expired.",
            render_link_button("See what waits", "/inbox"),
        )
    return h.div(class_="cards-column")[render_question(request, questions[0], tools)]


def render_inbox(
    request: ScreenRequest,
    found: WaitingList,
    changes: Mapping[str, ChangedTool] = {},
    agents: KnownAgents = NOT_KNOWN,
) -> h.Node:
    """Render the inbox: a list of what waits beside the cards, what expires first on top."""
    held = found.held if request.has_right(Right.READ) else {}
    cards = list_cards(request, found, KnownTexts(found.offered, changes, held, agents))
    foot = _render_decision_history(request, found.decided)
    if not cards:
        return [render_blank("Nothing waits for you."), foot]
    return render_split(
        "What waits",
        h.ul(class_="chatlist")[(_render_entry(request, card) for card in cards)],
        h.div(class_="pane", data_pane=True, tabindex="-1")[
            h.div(class_="cards-column")[(card.card for card in cards), foot]
        ],
    )


def list_cards(
    request: ScreenRequest, found: WaitingList, known: KnownTexts
) -> Sequence[WaitingCard]:
    """Return the cards of everything that waits: first what expires, in that order."""
    cards = [
        *(waiting_cards.build_question_card(request, item, known) for item in found.questions),
        *(waiting_cards.build_pairing_card(request, item, known) for item in found.chats),
        *(waiting_cards.build_tool_card(request, item, known) for item in found.tools),
        *(waiting_cards.build_call_card(request, item) for item in found.calls),
        *(waiting_cards.build_dead_card(request, row) for row in found.dead),
        *(stopped_cards.build_pause_card(request, item) for item in found.pauses),
        *(stopped_cards.build_task_card(request, item) for item in found.tasks),
        *waiting_cards.build_delivery_cards(request, found.unconfirmed),
    ]
    return sorted(cards, key=lambda card: (card.expires is None, card.expires or 0))


def _render_entry(request: ScreenRequest, card: WaitingCard) -> h.Element:
    left = "" if card.expires is None else figures.format_time_left(card.expires, request.now)
    return h.li[
        h.a(href=f"#{quote(card.id)}")[
            h.b[card.title], h.small[left], h.span(class_="soft")[card.about]
        ]
    ]


def _render_decision_history(request: ScreenRequest, decided: Sequence[AuditEntry]) -> h.Node:
    return render_panel(
        "What was decided, and by whom",
        render_table(
            "Decisions",
            (TableColumn("When", "time"), "Who", TableColumn("What", "grow")),
            (
                (
                    figures.render_recent_moment(one.at, request.zone, request.now),
                    show_hidden_characters(one.actor.removeprefix("web:")),
                    describe_decision(one),
                )
                for one in decided
            ),
            "No decisions yet.",
        ),
    )


SCREENS = (
    PageScreen("/inbox", "Inbox", Right.DECIDE, _show_inbox, "Inbox"),
    PageScreen("/inbox/{code}", "A question", Right.DECIDE, _show_question, "Inbox"),
)
