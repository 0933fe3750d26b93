"""An approval that stands covers the approved recipients alone, whatever else a call says."""

import pytest

from orchestrator.extensions.standing_approvals.rule_conditions import (
    Sources,
    build_condition,
    is_condition_met,
    names_recipient,
)
from thinker.protocol.messages import JsonObject

CALL: JsonObject = {"to": ["ada@x.org"], "cc": "bob@x.org", "body": "Hi", "account": 1}
OWN: Sources = {
    "to[0]": ("model", "", True),
    "cc": ("user", "", True),
    "body": ("web", "x", False),
}


def test_condition_names_what_decides_and_leaves_the_rest_open() -> None:
    """Every argument that a call may have is named."""
    assert build_condition(CALL, OWN, "recipient") == {
        "to": {"is": ["ada@x.org"]},
        "cc": {"is": "bob@x.org"},
        "body": {},
        "account": {},
    }
    assert build_condition(CALL, OWN, "tool") == {}
    assert build_condition(CALL, OWN, "chat") == {}


def test_recipient_is_told_by_names_where_no_sources_are_known() -> None:
    """In a turn that has read no text of others; what is of unknown nature must be the same."""
    mail: JsonObject = {"to": "ada@x.org", "body": "Hi", "priority": "high"}
    assert names_recipient(mail, {})
    assert build_condition(mail, {}, "recipient") == {
        "to": {"is": "ada@x.org"},
        "body": {},
        "priority": {"is": "high"},
    }
    note: JsonObject = {"fact": "Likes tea.", "category": "preference"}
    assert not names_recipient(note, {})
    assert build_condition(note, {}, "recipient") is None


def test_call_without_a_recipient_has_no_condition_of_one() -> None:
    """It would be met by all calls."""
    assert build_condition({"body": "Hi"}, {"body": ("model", "", False)}, "recipient") is None
    assert build_condition({}, {}, "recipient") is None


@pytest.mark.parametrize(
    ("changes", "met"),
    [
        ({}, True),
        ({"body": "something else"}, True),
        ({"account": 2}, True),
        ({"to": ["ADA@x.org"]}, False),
        ({"to": ["ada@x.org", "eve@x.org"]}, False),
        ({"to": "ada@x.org"}, False),
        ({"cc": None}, False),
        ({"bcc": "eve@x.org"}, False),
    ],
)
def test_condition_is_met_by_the_same_recipients_alone(changes: JsonObject, met: object) -> None:
    """A value of another form, one more, or an argument that was not there before is another."""
    condition = build_condition(CALL, OWN, "recipient")
    assert condition is not None
    assert is_condition_met(condition, CALL | changes, {}) is met
    short = {name: value for name, value in (CALL | changes).items() if name != "cc"}
    assert not is_condition_met(condition, short, {})


@pytest.mark.parametrize("kind", ["tool", "web", "other_user"])
def test_no_condition_is_met_where_text_of_others_decides(kind: str) -> None:
    """Not even by the very values that were approved."""
    condition = build_condition(CALL, OWN, "recipient")
    assert condition is not None
    read: Sources = {"to[0]": (kind, "x", True)}
    assert not is_condition_met(condition, CALL, read)
    assert not is_condition_met({}, CALL, read)
    assert is_condition_met({}, CALL, {"body": (kind, "x", False)})


def test_open_condition_is_not_met_by_what_the_model_has_chosen_after_reading() -> None:
    """It may be text of others in other words; what a rule names by its value is known."""
    assert not is_condition_met({}, CALL, OWN)
    assert is_condition_met({}, CALL, {"cc": ("user", "", True)})
    condition = build_condition(CALL, OWN, "recipient")
    assert condition is not None
    assert is_condition_met(condition, CALL, OWN)
    assert not is_condition_met(condition, CALL, {**OWN, "account": ("model", "", True)})


def test_one_and_true_are_different_values() -> None:
    """As they are in JSON."""
    condition = build_condition({"all": True}, {"all": ("model", "", True)}, "recipient")
    assert condition is not None
    assert not is_condition_met(condition, {"all": 1}, {})
