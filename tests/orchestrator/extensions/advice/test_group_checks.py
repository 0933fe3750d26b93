"""Rules for groups that say something else than their author may think are named."""

import json
from typing import Any

import pytest
from fakes.carrier import CarrierChannel

from orchestrator.agentsfile.loading import LoadedConfig, parse_agents_file

BOUND = {"channel": "carrier", "chatId": "-100123", "agentId": "work"}


def loaded(**groups: Any) -> LoadedConfig:
    """A file with these rules, a bound group and one on the allow-list; a line for each part."""
    file = {
        "agents": [{"agentId": "work", "llmProvider": "demo"}],
        "bindings": [BOUND],
        "channels": {"carrier": {"allowlist": [-200], "groups": groups}},
    }
    return parse_agents_file(json.dumps(file, indent=1).encode())


def test_sound_rules_are_silent() -> None:
    """Also those of a group that nothing else names: its admitted members are answered."""
    rules = {"answer": ["all"], "patterns": []}
    chats = {"-100123": rules, "-200": {"answer": []}, "-987654321": {"patterns": ["tea"]}}
    assert loaded(answer=["mention"], patterns=["tea"], chats=chats).problems == ()


@pytest.mark.parametrize(
    ("groups", "path", "words"),
    [
        ({"patterns": ["tea", "x*"]}, "patterns[1]", ("'x*'", "every text", '"answer": ["all"]')),
        ({"answer": ["all", "reply"]}, "answer", ("change nothing", 'leave "all" out')),
        ({"answer": ["all"], "patterns": ["tea"]}, "answer", ("change nothing",)),
        (
            {"chats": {"-200": {"patterns": [".*"]}}},
            "chats.-200.patterns[0]",
            ('group "-200"', "every text"),
        ),
        ({"chats": {"-10012": {}}}, "chats.-10012", ('did you mean "-100123"?',)),
        ({"chats": {"5": {}}}, "chats.5", ("a person's id", "remove it")),
        ({"chats": {"-99": {}, "-98": {"patterns": ["x*"]}}}, "chats.-98.patterns[0]", ("'x*'",)),
    ],
)
def test_doubtful_rule_is_told_with_its_line_and_what_to_do(
    groups: dict[str, Any], path: str, words: tuple[str, ...]
) -> None:
    """It counts all the same."""
    found = loaded(**groups)
    (problem,) = found.problems
    assert (problem.severity, problem.path) == ("warning", f"channels.carrier.groups.{path}")
    assert all(word in problem.message for word in words)
    assert problem.line > 0
    assert found.file.channels.get_settings(CarrierChannel).enabled
