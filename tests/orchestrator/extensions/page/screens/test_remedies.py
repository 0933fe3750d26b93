"""Troubles in people's words."""

import pytest
from fakes.screens import html, request

from orchestrator.extensions.page.screens import remedies
from orchestrator.journal.turns.usage import Amount
from orchestrator.spending.budgets import Window, find_exceeded_limit

KEYLESS = "no answer, because GROQ_API_KEY is not set"
WITHHELD = "the MCP server of x changed its description, so it is not offered"


@pytest.mark.parametrize(
    ("text", "shown", "path"),
    [
        (
            f"{KEYLESS}; put GROQ_API_KEY=… into /h, and run: orchestrator reload",
            KEYLESS,
            "/keys",
        ),
        (f"{WITHHELD}; check it, then run: orchestrator tools approve wiki/x", WITHHELD, "/inbox"),
        ("MCP server 'wiki': 3 tools are left out", "3 tools are left out", "/tools"),
        ("message 7 was given up; see: orchestrator dlq list", "message 7 was given up", "/inbox"),
        ("a chat may operate; run: orchestrator pair revoke x", "a chat may operate", "/people"),
    ],
)
def test_trouble_leads_to_what_solves_it(text: str, shown: str, path: str) -> None:
    """Instead of a command."""
    page = html(remedies.render_trouble(request(), text))
    assert shown in page
    assert f'href="{path}"' in page
    assert "orchestrator" not in page


def test_those_who_may_not_go_there_read_the_whole_text() -> None:
    """With the command, to tell it to an operator."""
    page = html(remedies.render_trouble(request("viewer"), "X_KEY is not set; run: orchestrator x"))
    assert "<a" not in page
    assert "run: orchestrator x" in page


@pytest.mark.parametrize(
    ("spent", "call", "shown"),
    [
        (0, 4000, "only 3\u202f000\u00a0tokens of 3\u202f000\u00a0tokens is left this hour"),
        (2000, 2500, "may take 2\u202f500\u00a0tokens; only 1\u202f000\u00a0tokens of"),
        (4000, 1, "only 0\u00a0tokens of"),
    ],
)
def test_used_budget_is_told_without_a_riddle(spent: int, call: int, shown: str) -> None:
    """Also when nothing was used of it yet."""
    window = Window("Hour", 0, 3000, None)
    reason = find_exceeded_limit(window, Amount(spent, 0.0), Amount(call, 0.0))
    assert reason is not None
    assert shown in remedies.explain_reason(f"paused: {reason}")


def test_agent_that_does_not_run_is_named_once() -> None:
    """Without the name of a state of its process."""
    said = "agent 'bad' does not run (fatal): agent 'bad' cannot answer"
    assert remedies.explain_reason(said) == "agent 'bad' does not run: cannot answer"


def test_dollars_of_a_budget_are_told_too() -> None:
    """With their sign."""
    window = Window("Day", 0, None, 0.1)
    reason = find_exceeded_limit(window, Amount(0, 0.0), Amount(0, 0.25))
    assert reason is not None
    assert remedies.explain_reason(reason) == (
        "the next call may cost $0.2500; only $0.1000 of $0.1000 is left today"
    )


def test_what_an_agent_lacks_is_one_note_with_the_details_folded() -> None:
    """It says what to do; the names of tools are in the details."""
    tools = "tools 2 of 3 left out, which do not fit: pay, send (a turn at 2026-01-01 01:09 UTC)"
    hints = [
        f"agent 'home' answers with less: {what}"
        for what in ("<skills> left out of the prompt", tools)
    ]
    notes = [html(note) for note in remedies.list_hints(request(), ["a full disk", *hints])]
    assert len(notes) == 2
    assert "home answered with less lately; its model reads less at once" in notes[1]
    assert 'href="/agents/home"' in notes[1]
    assert notes[1].index("<details>") < notes[1].index("pay, send")
