"""Answerable messages: an edit counts by the state in which it met the message."""

import pytest

from orchestrator.extensions.selftest.crash.answerable import list_messages
from orchestrator.extensions.selftest.crash.evidence import Evidence, JournalRows, MessageRow
from orchestrator.extensions.selftest.crash.ledger import LedgerEvent
from orchestrator.extensions.selftest.crash.scenario import Script, make_scenario

SCENARIO = make_scenario(
    Script("a", 101),
    Script("b", 101),
    Script("a2", 101, corrects="a"),
    Script("a3", 101, corrects="a"),
)
EVENTS = (
    LedgerEvent("said", "a", 1, 101),
    LedgerEvent("said", "b", 2, 101),
    LedgerEvent("edited", "a2", 3, 101),
    LedgerEvent("edited", "a3", 4, 101),
)


def answerable(*states: tuple[int, str]) -> list[str]:
    """The words to be answered; rows have the numbers of their updates."""
    rows = tuple(MessageRow(n, n, "101", "", "done", None, 0) for n in {n for n, _ in states})
    journal = JournalRows(inbox=rows, message_states=states)
    return [event.text for event in list_messages(Evidence(SCENARIO, journal, EVENTS))]


@pytest.mark.parametrize(
    ("states", "words"),
    [
        (((1, "new"), (2, "new"), (3, "cancelled"), (4, "cancelled")), ["a3", "b"]),
        (((1, "new"), (2, "new"), (1, "claimed"), (3, "new"), (4, "cancelled")), ["a", "b", "a3"]),
        (
            ((1, "new"), (2, "new"), (3, "cancelled"), (1, "claimed"), (4, "new")),
            ["a2", "b", "a3"],
        ),
        (((1, "new"), (1, "done"), (2, "new"), (3, "cancelled"), (4, "cancelled")), ["a", "b"]),
        (((1, "new"), (1, "dead"), (2, "new"), (3, "new"), (4, "cancelled")), ["a", "b", "a3"]),
    ],
    ids=["waiting", "begun", "between", "answered", "given up"],
)
def test_edit_replaces_words_that_wait(
    states: tuple[tuple[int, str], ...], words: list[str]
) -> None:
    """After that it is a message of its own, or none once the message was answered."""
    assert answerable(*states) == words


def test_what_is_not_stored_is_to_be_answered() -> None:
    """So that a check finds it lost."""
    assert answerable((1, "new"), (2, "new")) == ["a", "b", "a2", "a3"]
