"""The cards of what stands still, drawn from plain values."""

import pytest
from fakes.screens import NOW, html, request

from orchestrator.extensions.page.screens.stopped_cards import build_pause_card
from orchestrator.journal.turns.pauses import Pause

REASON = "the next call may {wanted}, and {left} are left of the budget {limit}PerDay"


@pytest.mark.parametrize(
    ("limit", "offered"), [("usd", True), ("tokens", False)], ids=["dollars", "tokens"]
)
def test_money_is_offered_where_money_is_short(limit: str, offered: bool) -> None:  # noqa: FBT001 - a parameter of pytest
    """It would not let an agent go on that has used its tokens."""
    reason = REASON.format(wanted="cost $0.10", left="$0.00 of $1.00", limit=limit)
    card = html(build_pause_card(request(), Pause(1, "home", "budget", reason, NOW)).card)
    assert ("+ $0.10 today" in card) is offered
    assert "Resume" in card
