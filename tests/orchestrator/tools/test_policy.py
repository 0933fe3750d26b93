"""Tool policy: anchored patterns in which only the star is special."""

import re
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.tools.policy import SENDING, decide_tool, is_tool_allowed, matches_pattern


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("*", "", True),
        ("a*b", "ab", True),
        ("a*b", "a", False),
        ("ab*ba", "aba", False),
        ("*a*b*", "xbxa", False),
        ("a*b*c", "a-b-c", True),
        ("a?b", "axb", False),
        ("a[bc]", "ab", False),
        ("a.c", "abc", False),
        ("Tool", "tool", False),
        ("tool", "tool\n", False),
        ("caf\u00e9_*", "cafe\u0301_open", True),
    ],
)
def test_pattern_matches_whole_names_only(pattern: str, name: str, *, expected: bool) -> None:
    """Brackets, dots and question marks are themselves; Unicode spelling does not matter."""
    assert matches_pattern(pattern, name) is expected


@given(st.text("ab*", max_size=8), st.text("ab", max_size=12))
def test_match_agrees_with_a_regular_expression(pattern: str, name: str) -> None:
    """The definition of a glob, without the time that many stars would take it."""
    expression = ".*".join(re.escape(part) for part in normalize("NFC", pattern).split("*"))
    assert matches_pattern(pattern, name) is bool(re.fullmatch(expression, name))


def test_deny_wins_over_allow() -> None:
    """Also over an exact allow."""
    assert not is_tool_allowed("telegram_delete", ["telegram_delete"], ["*_delete"])


def test_decision_names_its_rule() -> None:
    """The log says which line of agents.json to change."""
    assert decide_tool("x", ["y"], ["x*"]).reason == 'denied by "x*" in deniedTools'
    assert decide_tool("x", ["x"], []).reason == 'allowed by "x" in allowedTools'
    assert decide_tool("x", ["y"], []).reason == "no pattern of allowedTools matches"
    assert decide_tool("x", [], []).allowed


@pytest.mark.parametrize(
    ("name", "sends"),
    [
        ("send_message", True),
        ("send_telegram", True),
        ("telegram_send_message", True),
        ("work_mail_send_message", True),
        ("send_message_draft", False),
        ("schedule_task", False),
    ],
)
def test_tools_that_send_are_known_by_their_names(name: str, *, sends: bool) -> None:
    """Those of any server too: a task may use none of them."""
    assert is_tool_allowed(name, (), SENDING) == (not sends)
