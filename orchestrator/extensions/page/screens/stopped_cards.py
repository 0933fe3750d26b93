"""The cards of the inbox for what stands still: paused agents, and tasks that were switched off."""

import htpy as h

from orchestrator.control import protocol
from orchestrator.control.roles import Right
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import build_link, render_act_button
from orchestrator.extensions.page.html.outside_text import (
    shorten_text,
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.screen_request import ScreenRequest
from orchestrator.extensions.page.screens.agent_table import render_extension
from orchestrator.extensions.page.screens.remedies import explain_reason
from orchestrator.extensions.page.screens.waiting_cards import WaitingCard, render_card
from orchestrator.journal.schedule.tasks import Task
from orchestrator.journal.turns.pauses import Pause

IN_DOLLARS = "budget usdPer"  # in the reason of a pause by a budget that money lifts


def build_pause_card(request: ScreenRequest, found: Pause) -> WaitingCard:
    """Return the card of a paused agent; more money for today, where that is why."""
    agent, fields = show_hidden_characters(found.agent_id), {"agentId": found.agent_id}
    card = render_card(
        f"a-{agent}",
        f"{agent} is paused",
        h.p[explain_reason(found.reason)],
        h.p(class_="soft")[
            f"since {figures.format_age(found.at, request.now)}; its messages are kept"
        ],
        [
            render_extension(request, found.agent_id, "do")
            if found.kind == "budget" and IN_DOLLARS in found.reason
            else None,
            render_act_button(request, protocol.AGENT_RESUME, fields, "Resume"),
        ]
        if request.has_right(Right.CHANGE)
        else None,
    )
    return WaitingCard(f"a-{agent}", f"{agent} is paused", "an agent", None, card)


def build_task_card(request: ScreenRequest, found: Task) -> WaitingCard:
    """Return the card of a task that was switched off after failures."""
    title = f"The task {shorten_text(found.name, 60)} was switched off"
    failures = figures.format_plural(found.failures, "failure")
    card = render_card(
        f"k-{found.id}",
        title,
        h.p[strip_terminal_codes(found.note or "")],
        h.p(class_="soft")[
            f"after {failures} of {show_hidden_characters(found.agent_id)} · ",
            h.a(href=build_link("tasks", str(found.id)))["the task"],
        ],
        render_act_button(
            request, protocol.TASK_ENABLE, {"id": str(found.id)}, "Switch on", kind="do"
        )
        if request.has_right(Right.CHANGE)
        else None,
    )
    return WaitingCard(f"k-{found.id}", title, "a task", None, card)
