"""The list of turns."""

import pytest
from fakes.screens import NOW, html, request

from orchestrator.extensions.page.reads import turn_filters
from orchestrator.extensions.page.reads.turn_filters import TurnChoices
from orchestrator.extensions.page.screens import turn_table
from orchestrator.extensions.page.screens.turn_table import TurnListing
from orchestrator.journal.inspect.turn_search import FoundTurn, TurnPage


def turn(number: int, usd: float | None = 0.01, **fields: object) -> FoundTurn:
    """A turn that was answered."""
    known: dict[str, object] = {
        "id": f"turn-{number}",
        "agent_id": "home",
        "chat_key": "telegram/1/12345/",
        "recipe": "chat",
        "state": "closed",
        "stop_reason": "done",
        "began": NOW - 60_000 * number,
        "ended": NOW,
        "repaired": False,
        "asked": f"question {number}",
        "tools": ("web_search",),
        "steps": 1,
        "deaths": 0,
        "unconfirmed": 0,
        "approvals": 0,
        "tokens": 100,
        "cached": 0,
        "usd": usd,
    }
    return FoundTurn(**{**known, **fields})  # type: ignore[arg-type]


def shown(*turns: FoundTurn, role: str = "operator", **query: str) -> str:
    """The screen with these turns."""
    asked = request(role, **query)
    found = turn_filters.parse_turn_query(query, asked.zone, NOW)
    listing = TurnListing(TurnPage(list(turns), None, len(turns)), found, TurnChoices([], [], []))
    return html(turn_table.render_turns(asked, listing).content)


def test_cell_leads_to_the_turns_that_have_it_in_common() -> None:
    """Agent, chat, state and tool."""
    page = shown(turn(1))
    for query in (
        "agent=home",
        "chat=telegram%2F1%2F12345%2F",
        "state=answered",
        "tool=web_search",
    ):
        assert f'href="/turns?{query}"' in page
    assert "question 1" in page
    assert "question 1" not in shown(turn(1), role="viewer")


def test_filter_is_a_chip_that_can_be_taken_away() -> None:
    """A wrong value is told."""
    page = shown(turn(1), state="answered", longer="abc")
    assert "state: answered" in page
    assert "“abc” is no number of seconds" in page


@pytest.mark.parametrize(("by", "first"), [("cost", 2), ("took", 3), ("", 1)])
def test_turns_are_sorted_by_what_was_asked_for(by: str, first: int) -> None:
    """By default by their time."""
    turns = [turn(1), turn(2, 0.5), turn(3, None)]
    page = shown(*turns, by=by)
    rows = page.partition("<tbody>")[2]
    assert rows.index(f"question {first}") < min(
        rows.index(f"question {other}") for other in {1, 2, 3} - {first}
    )


def test_nothing_found_is_a_sentence_with_a_way_on() -> None:
    """Which differs with and without filters."""
    assert "Take a filter away" in shown(agent="home")
    assert "Write the first one" in shown()


def test_turn_that_asked_no_model_does_not_blame_it() -> None:
    """Such as one of an agent without a key."""
    page = shown(turn(1, stop_reason="model_error", steps=0, tokens=0))
    assert "no model was asked" in page
    assert "the model failed" in shown(turn(1, stop_reason="model_error"))
