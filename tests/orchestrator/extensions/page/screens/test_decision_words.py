"""Decisions in people's words."""

import pytest

from orchestrator.extensions.page.daemon_side.page_access import READ_METHODS, REQUIRED_RIGHTS
from orchestrator.extensions.page.reads.decision_log import AuditEntry
from orchestrator.extensions.page.screens.decision_words import ACTS, describe_decision


def test_every_act_of_the_page_has_words() -> None:
    """None is shown as the name of a method."""
    assert set(ACTS) == set(REQUIRED_RIGHTS) - READ_METHODS


@pytest.mark.parametrize(
    ("act", "subject", "words"),
    [
        ("files/save", '{"name":"agents.json","base":"ab12"}', "changed agents.json"),
        ("files/save not done", '{"name":"agents.json"}', "tried to change agents.json"),
        ("daemon/restart", "{}", "restarted the daemon"),
        ("setup/bot not done", '{"agentId":"","account":""}', "tried to connect a Telegram bot"),
        ("setup/model", '{"agentId":"a","model":"m"}', "set up the model m for a"),
        ("pairing may talk", "telegram:9001", "let telegram:9001 talk"),
        ("pairing approved", "telegram:9001", "let in telegram:9001"),
        ("paused: a rest", "agent home", "paused home: a rest"),
        ("tasks/run", '{"id":"3', "ran task"),
        ("unheard\u202e of", "x", "unheard⟦U+202E⟧ of x"),
    ],
)
def test_decision_is_a_sentence(act: str, subject: str, words: str) -> None:
    """What failed is called an attempt; an entry that was cut loses its details."""
    assert describe_decision(AuditEntry(1, "web:ann", act, subject)) == words


def test_decision_about_a_call_names_tool_chat_and_reason() -> None:
    """The numbers of turn and call say nothing to people."""
    entry = AuditEntry(1, "web:ann", "granted pay", "t1:3", "telegram/1/7/", "it costs money")
    assert describe_decision(entry) == "allowed pay in telegram:7: it costs money"
