"""The cards of the inbox: each thing that waits for a person, with what decides it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import htpy as h

from orchestrator.control import protocol
from orchestrator.control.roles import Right
from orchestrator.extensions.page.daemon_side import page_protocol
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.argument_rows import render_arguments
from orchestrator.extensions.page.html.forms import (
    build_link,
    render_act_button,
    render_button,
    render_hidden_fields,
)
from orchestrator.extensions.page.html.outside_text import (
    shorten_text,
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.vocabulary import render_choice, render_note
from orchestrator.extensions.page.reads.answer_costs import OfferedTools
from orchestrator.extensions.page.reads.call_verdicts import UnconfirmedCall
from orchestrator.extensions.page.screen_request import ScreenRequest
from orchestrator.extensions.page.screens.call_questions import format_wishes, render_question
from orchestrator.extensions.page.screens.changed_tools import SUSPECT, ChangedTool, render_change
from orchestrator.extensions.page.screens.known_agents import KnownAgents, render_agent_choice
from orchestrator.extensions.page.setup_answers import PAIR_REFUSE
from orchestrator.journal.access.pairing import CODE_LIFETIME, Pairing
from orchestrator.journal.access.tool_pins import Pin
from orchestrator.journal.inspect.chat_history import OpenQuestion
from orchestrator.journal.turns.inbox import InboxRow

ROLES = (
    ("talk", "may talk"),
    ("approve", "may also approve calls"),
    ("operate", "may do everything, as you"),
)


class WaitingCard(NamedTuple):
    """One thing that waits: what the list shows of it, and its card.

    ``expires`` is in milliseconds; None waits for as long as it takes.
    """

    id: str
    title: str
    about: str
    expires: int | None
    card: h.Node


class KnownTexts(NamedTuple):
    """What the cards show besides the journal's rows.

    ``held`` are the texts of chats that are not let in, by channel and id; ``agents`` may be
    chosen for them.
    """

    tools: OfferedTools
    changes: Mapping[str, ChangedTool]
    held: Mapping[tuple[str, str], Sequence[str]]
    agents: KnownAgents


def build_question_card(
    request: ScreenRequest, found: OpenQuestion, known: KnownTexts
) -> WaitingCard:
    """Return the card of calls that wait for one answer."""
    wish = format_wishes(found, known.tools)
    title = f"{show_hidden_characters(found.agent_id)} wants to {wish}"
    card = render_question(request, found, known.tools)
    return WaitingCard(f"q-{found.code}", title, "a call", found.expires, card)


def build_pairing_card(request: ScreenRequest, found: Pairing, known: KnownTexts) -> WaitingCard:
    """Return the card of a chat that asks to be let in."""
    code, expires = found.code or "", found.created_at + CODE_LIFETIME
    chat = f"{show_hidden_characters(found.channel)}:{show_hidden_characters(found.chat_id)}"
    title = f"{shorten_text(found.name, 40) or chat} asks to be let in"
    held = known.held.get((found.channel, found.chat_id), ())
    card = render_card(
        f"p-{code}",
        title,
        h.p(class_="soft")[
            f"{chat} · wrote {figures.format_age(found.created_at, request.now)}",
            f" · {figures.format_time_left(expires, request.now)} · code {code}",
        ],
        [h.blockquote(class_="held")[strip_terminal_codes(text)] for text in held],
        None
        if held or request.has_right(Right.READ)
        else h.p(class_="soft")["What it wrote is for operators to read."],
        _render_admission(request, code, known.agents),
        urgent=True,
    )
    return WaitingCard(f"p-{code}", title, chat, expires, card)


def _render_admission(request: ScreenRequest, code: str, agents: KnownAgents) -> h.Node:
    """Render who may be let in as what, and below it the refusal."""
    if request.daemon is None:
        return None
    decides = request.has_right(Right.CHANGE)
    return [
        h.form(method="post", action=f"/act/{protocol.PAIR_APPROVE}", class_="act")[
            render_hidden_fields(request, {"code": code}),
            h.label[
                h.span["This chat"],
                render_choice("role", ROLES if decides else ROLES[:2], "talk", "Role"),
            ],
            h.label[
                h.span["and is answered by"],
                render_agent_choice(
                    "agentId", agents, none="the agent set up for it", listed=f"agents-{code}"
                ),
            ]
            if decides and agents.names
            else None,
            render_button("Let in", "do"),
        ],
        h.form(method="post", action=f"/act/{PAIR_REFUSE}", class_="act deny")[
            render_hidden_fields(request, {"code": code}),
            h.span(class_="soft")["Or shut it out: what it wrote is deleted, and it hears nothing"],
            render_button("Refuse", "danger"),
        ],
    ]


def build_tool_card(request: ScreenRequest, found: Pin, known: KnownTexts) -> WaitingCard:
    """Return the card of a tool that has changed, or was added later."""
    name = show_hidden_characters(found.name)
    change = known.changes.get(found.name)
    title = f"The tool {name} {'has changed' if found.changed else 'is new'}"
    shown = change is not None and change.new is not None
    fields = {"name": found.name} | ({} if change is None else {"seen": change.seen})
    card = render_card(
        f"t-{name}",
        title,
        h.p(class_="soft")["It is not offered to any agent until you approve it."],
        render_change(change),
        render_note(SUSPECT, kind="warn"),
        render_act_button(request, protocol.TOOL_APPROVE, fields, "Approve this text", kind="do")
        if shown
        else render_act_button(
            request, protocol.TOOL_APPROVE, fields, "Approve it unseen", kind="danger"
        ),
    )
    return WaitingCard(f"t-{name}", title, "a tool", None, card)


def build_call_card(request: ScreenRequest, found: UnconfirmedCall) -> WaitingCard:
    """Return the card of a call that may or may not have happened."""
    fields = {"turnId": found.turn_id, "seq": str(found.seq)}
    tool, name = show_hidden_characters(found.tool), f"c-{found.turn_id}-{found.seq}"
    title = f"Did {tool} happen?"
    card = render_card(
        name,
        title,
        h.p(class_="soft")[
            f"{show_hidden_characters(found.agent_id)} called it and was cut off",
            f" {figures.format_age(found.at, request.now)}. It is not repeated. ",
            h.a(href=build_link("turns", found.turn_id))["its turn"],
        ],
        render_arguments(found.arguments),
        render_act_button(
            request, page_protocol.CALL_SETTLE, {**fields, "happened": "true"}, "It happened"
        ),
        render_act_button(
            request, page_protocol.CALL_SETTLE, {**fields, "happened": "false"}, "It did not"
        ),
    )
    return WaitingCard(name, title, "a call that was cut off", None, card)


def build_dead_card(request: ScreenRequest, row: InboxRow) -> WaitingCard:
    """Return the card of a message that was given up."""
    row_id = {"id": str(row.id)}
    name = show_hidden_characters(row.build_address().name)
    title = f"A message of {name} was given up"
    card = render_card(
        f"m-{row.id}",
        title,
        h.blockquote(class_="held")[strip_terminal_codes(row.text[:2000])]
        if request.has_right(Right.READ) and row.text
        else None,
        h.p(class_="soft")[
            strip_terminal_codes(row.error or ""),
            [" ", h.a(href=build_link("m", str(row.id)))["its turn"]] if row.turn_id else None,
        ],
        render_act_button(request, protocol.DLQ_RETRY, row_id, "Try again", kind="do"),
        render_act_button(request, protocol.DLQ_DROP, row_id, "Drop", kind="danger"),
    )
    return WaitingCard(f"m-{row.id}", title, f"message {row.id}", None, card)


def build_delivery_cards(
    request: ScreenRequest, found: Sequence[tuple[str, str]]
) -> Iterator[WaitingCard]:
    """Yield the cards of messages of which it is not known whether they arrived."""
    for number, (chat, text) in enumerate(found):
        title = f"A message to {show_hidden_characters(chat)} may not have arrived"
        body = shorten_text(text, 300) if request.has_right(Right.READ) else None
        card = render_card(
            f"d-{number}", title, h.blockquote(class_="held")[body] if body else None
        )
        yield WaitingCard(f"d-{number}", title, "a message", None, card)


def render_card(id: str, title: str, *content: h.Node, urgent: bool = False) -> h.Element:  # noqa: A002 - HTML's name
    """Render a card; an ``urgent`` one stands out."""
    return h.article(
        class_="card urgent ask" if urgent else "card ask", id=id, data_row=True, tabindex="-1"
    )[h.h2[title], content]
