"""The receipt of an answer: what it claims to have done, and the calls that show it."""

from collections.abc import Iterator

import htpy as h

from orchestrator.control import protocol
from orchestrator.control.roles import Right
from orchestrator.extensions.page.html.forms import build_link, render_act_button
from orchestrator.extensions.page.html.outside_text import shorten_text, strip_terminal_codes
from orchestrator.extensions.page.html.vocabulary import render_panel
from orchestrator.extensions.page.screen_request import ScreenRequest
from orchestrator.journal.turns.receipts import AnswerReceipt, ReceiptClaim

MAX_CLAIM = 200  # characters of a sentence


def render_receipt(request: ScreenRequest, turn_id: str, found: AnswerReceipt | None) -> h.Node:
    """Render a turn's receipt; nothing for an answer that claims nothing."""
    if found is None:
        return None
    rows = (
        h.li(class_="bad" if claim.is_doubtful else None)[
            _render_claim(request, turn_id, number, claim)
        ]
        for number, claim in enumerate(found.claims, 1)
    )
    return render_panel("What the answer says was done", h.ul(class_="calls")[rows])


def render_receipt_link(
    request: ScreenRequest, turn_id: str | None, found: AnswerReceipt | None
) -> h.Node:
    """Render how much of what an answer claims its calls show, as a link to the receipt."""
    if found is None or turn_id is None or not request.has_right(Right.LOOK):
        return None
    shown = sum(not claim.is_doubtful for claim in found.claims)
    doubted = len(found.claims) - shown
    words = f"{doubted} not confirmed" if doubted else f"{shown} confirmed by calls"
    kind = "plain bad" if doubted else "plain"
    return h.a(class_=kind, href=build_link("turns", turn_id), title="What it says was done")[
        "✕ " if doubted else "✓ ", words
    ]


def _render_claim(
    request: ScreenRequest, turn_id: str, number: int, claim: ReceiptClaim
) -> Iterator[h.Node]:
    mark = "✕" if claim.is_doubtful else "✓"
    yield f"{mark} {shorten_text(claim.text, MAX_CLAIM)}"
    yield h.span(class_="soft")[f" {strip_terminal_codes(claim.describe_verdict())}"]
    for call in claim.calls:
        place = "" if call.turn_id == turn_id else build_link("turns", call.turn_id)
        yield [" ", h.a(href=f"{place}#step-{call.seq}")[f"call {call.seq}"]]
    if claim.is_doubtful and request.has_right(Right.DECIDE):
        fields = {"turnId": turn_id, "claim": str(number)}
        yield render_act_button(request, protocol.CLAIM_CONFIRM, fields, "This was true")
