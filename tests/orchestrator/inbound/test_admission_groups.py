"""Group rules: which messages of a group are for the bot."""

from dataclasses import replace
from typing import Any

import pytest
from fakes.agents_file import WORK, parsed
from fakes.carrier import CarrierExtension
from fakes.installed_extensions import install_extensions

from orchestrator.agentsfile import GroupRules
from orchestrator.channel_api import InboundMessage
from orchestrator.inbound.admission import (
    AdmissionDecision,
    find_group_rule,
    is_passed_over,
    judge_message,
)

SAID = InboundMessage("carrier", "1", "-100", "1", sender_id="7", text="tea?", private=False)
MENTIONED = {"mentioned": True}
REPLIED = {"replied_to_bot": True}


@pytest.fixture(autouse=True)
def _carriers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those are the messages' channel."""
    install_extensions(monkeypatch, own=(CarrierExtension(),))


def rule(rules: dict[str, Any], facts: dict[str, Any]) -> str | None:
    """The rule by which a message with these facts is for the bot."""
    return find_group_rule(replace(SAID, **facts), GroupRules.model_validate(rules))


@pytest.mark.parametrize(
    ("rules", "facts", "expected"),
    [
        ({}, {}, None),
        ({}, MENTIONED, "mention"),
        ({}, REPLIED, "reply"),
        ({"answer": ["mention"]}, REPLIED, None),
        ({"answer": ["reply"]}, MENTIONED, None),
        ({"answer": []}, MENTIONED | REPLIED, None),
        ({"answer": ["all"]}, {}, "all"),
        ({"answer": [], "patterns": [r"\btea\b"]}, {}, r"'\\btea\\b'"),
        ({"patterns": ["coffee", "TEA"]}, {"text": "Tea, please"}, "'TEA'"),
        ({"patterns": ["^tea"]}, {"text": "no tea"}, None),
        ({"patterns": ["tea"]}, MENTIONED, "mention"),
        ({"answer": []}, {"private": True}, ""),
        ({"answer": []}, {"kind": "press"}, ""),
        ({"patterns": ["tea"]}, {"kind": "edit"}, "'tea'"),
        ({"patterns": ["tea"]}, {"thread_id": "4", "album": "5"}, "'tea'"),
    ],
)
def test_rule_that_decides_is_named(
    rules: dict[str, Any], facts: dict[str, Any], expected: str | None
) -> None:
    """None is what people say to each other; a private chat and a button need no rule."""
    assert rule(rules, facts) == expected


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"text": "> tea?\nno idea"}, None),
        ({"text": "  > tea?\n>> or tea?"}, None),
        ({"text": "> coffee?\ntea!"}, "'tea'"),
        ({"text": "cake > tea"}, "'tea'"),
        ({"origin": "other_user"}, None),
        (MENTIONED | {"origin": "other_user"}, None),
        (REPLIED | {"origin": "other_user"}, "reply"),
        ({"text": "x" * 1000 + "tea"}, None),
    ],
)
def test_words_of_others_do_not_call_the_bot(facts: dict[str, Any], expected: str | None) -> None:
    """Neither quoted nor forwarded; only the beginning of a long message is looked at."""
    assert rule({"patterns": ["tea"]}, facts) == expected


def test_group_may_have_rules_of_its_own() -> None:
    """What they leave out is as in the other groups."""
    rules = {
        "patterns": ["tea"],
        "chats": {"-100": {"answer": ["all"]}, "-200": {"patterns": []}, "-300": {"answer": []}},
    }
    found = [rule(rules, {"chat_id": chat}) for chat in ("-100", "-200", "-300", "-400")]
    assert found == ["all", None, "'tea'", "'tea'"]
    assert rule(rules, MENTIONED | {"chat_id": "-200"}) == "mention"


def test_rules_open_no_group_and_answer_no_bot() -> None:
    """Who may write is decided first, and a bot's message is never one for an agent."""
    rules = {"answer": ["all"], "patterns": ["tea"]}
    settings = {"access": "allowlist", "allowlist": [7], "groups": rules}
    agents = parsed(WORK, channels={"carrier": settings}).file
    assert judge_message(agents, SAID, {}).verdict is AdmissionDecision.ADMIT
    stranger = judge_message(agents, replace(SAID, sender_id="8"), {})
    assert stranger.reason == "neither chat nor sender is on the allow-list"
    robot = judge_message(agents, replace(SAID, from_bot=True, mentioned=True), {})
    assert (robot.verdict, robot.reason) == (AdmissionDecision.REFUSE, "from a bot")


def test_rules_are_those_of_the_message_s_channel() -> None:
    """A channel on this machine has no groups."""
    agents = parsed(WORK, channels={"carrier": {"groups": {"answer": []}}}).file
    assert is_passed_over(agents, SAID)
    assert not is_passed_over(agents, replace(SAID, channel="web"))
