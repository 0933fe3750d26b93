"""The receipt of an answer on the page."""

from fakes.screens import html, request

from orchestrator.extensions.page.screens.receipt_panel import render_receipt, render_receipt_link
from orchestrator.journal.turns.receipts import AnswerReceipt, EvidentCall, ReceiptClaim

EVIL = '<script>alert(1)</script>\u202e" onload="x'
PAID = ReceiptClaim(
    text="I paid it.",
    kind="pay",
    verdict="shown",
    calls=(EvidentCall(turn_id="t0", seq=4, tool="pay"),),
)
SENT = ReceiptClaim(text=EVIL, kind="send", verdict="false", note=EVIL)


def shown(*claims: ReceiptClaim, role: str = "operator") -> str:
    """The panel of a turn's receipt."""
    return html(render_receipt(request(role), "t1", AnswerReceipt(claims=claims)))


def test_each_claim_has_its_verdict_and_calls() -> None:
    """A call of another turn leads to its step there."""
    page = shown(PAID, SENT)
    assert "✓ I paid it." in page
    assert 'href="/turns/t0#step-4"' in page
    assert "✕ " in page
    assert "<script" not in page


def test_doubted_claim_may_be_confirmed_by_those_who_decide() -> None:
    """Others only read it, and one that a call shows needs no confirmation."""
    assert "This was true" in shown(SENT)
    assert "This was true" not in shown(PAID)
    assert "This was true" not in shown(SENT, role="viewer")
    confirmed = SENT.model_copy(update={"confirmed_by": "web:ann"})
    assert "This was true" not in shown(confirmed)
    assert "true, says web:ann" in shown(confirmed)


def test_answer_has_a_line_that_leads_to_its_receipt() -> None:
    """It counts what is not confirmed; an answer without claims has none."""
    receipt = AnswerReceipt(claims=(PAID, SENT))
    page = html(render_receipt_link(request(), "t1", receipt))
    assert "1 not confirmed" in page
    assert 'href="/turns/t1"' in page
    assert "1 confirmed by calls" in html(
        render_receipt_link(request(), "t1", AnswerReceipt(claims=(PAID,)))
    )
    assert html(render_receipt_link(request(), "t1", None)) == ""
