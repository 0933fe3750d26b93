"""Tests in agents.json: which agent must answer in which chat."""

from typing import Any

import pytest
from fakes.agents_file import WORK, parsed

HOME = {**WORK, "agentId": "home"}
BINDINGS = [
    {"channel": "telegram", "chatId": "*", "agentId": "work"},
    {"channel": "telegram", "chatId": "7", "agentId": "home"},
    {"channel": "telegram", "chatId": "-100", "agentId": "work"},
    {"channel": "telegram", "chatId": "-100", "threadId": "3", "agentId": "home"},
]
GROUPS = {"telegram": {"enabled": False, "groups": {"answer": [], "patterns": ["^bot,"]}}}


def errors(test: dict[str, Any], **rest: Any) -> list[str]:
    """The errors of a file with this test, which all belong to the test's own lines."""
    parts = {"bindings": BINDINGS, "channels": GROUPS, "tests": [test], **rest}
    loaded = parsed(WORK, HOME, **parts)
    assert all(problem.path.startswith("tests") for problem in loaded.errors)
    return [problem.message for problem in loaded.errors]


@pytest.mark.parametrize(
    ("place", "agent"),
    [
        ({"chatId": "1"}, "work"),
        ({"chatId": 7}, "home"),
        ({"chatId": "-100", "text": "Bot, hello", "sender": "7"}, "work"),
        ({"chatId": "-100", "threadId": "3"}, "home"),
        ({"chatId": "-100", "text": "see you at nine", "sender": "7"}, None),
        ({"chatId": "7", "text": "see you at nine"}, "home"),
    ],
)
def test_tests_that_say_what_the_bindings_do_pass(place: dict[str, Any], agent: str | None) -> None:
    """In groups the rules for groups count as well, if the test has a text."""
    assert errors({"channel": "telegram", "agentId": agent, **place}) == []


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        ({"chatId": "1", "agentId": "home"}, "the binding telegram:* in line 1 decides"),
        ({"chatId": "7", "agentId": "work"}, "is answered by 'home' and must be answered by"),
        ({"chatId": "7", "agentId": None}, "must be refused: the binding telegram:7"),
        ({"chatId": "1", "agentId": "wrok"}, "unknown agent 'wrok'"),
        ({"chatId": "-100", "text": "hi", "agentId": "work"}, "it is not for the bot"),
    ],
)
def test_failing_test_is_an_error_with_the_rule_that_decides(
    test: dict[str, Any], reason: str
) -> None:
    """So a reload refuses the file as a whole."""
    (message,) = errors({"channel": "telegram", **test})
    assert reason in message


def test_fallback_and_disabled_agents_decide_as_for_messages() -> None:
    """A chat without a binding is the fallback's; a disabled agent answers in no chat."""
    lost = {"channel": "telegram", "chatId": "1", "agentId": "work"}
    (message,) = errors(lost, bindings=[])
    assert "no binding matches, and there is no fallbackAgentId" in message
    assert errors(lost, bindings=[], fallbackAgentId="work") == []
    off = {"agentId": "work", "model": "m", "enabled": False}
    loaded = parsed(off, HOME, bindings=BINDINGS, tests=[lost])
    assert ["is disabled" in problem.message for problem in loaded.errors] == [True]
