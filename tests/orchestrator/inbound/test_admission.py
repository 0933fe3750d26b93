"""Admission: which chats are admitted, get a pairing code, or are refused."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from fakes.agents_file import validate_file
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from orchestrator.agentsfile import Access, AgentsFile
from orchestrator.channel_api import ChatRole, InboundMessage
from orchestrator.inbound.admission import (
    CODE_ALPHABET,
    Admission,
    AdmissionDecision,
    format_pairing_message,
    judge_message,
    make_pairing_code,
)
from thinker.protocol.messages import JsonObject

PRIVATE = InboundMessage("telegram", "1", chat_id="7", message_id="1", sender_id="7")
GROUP = InboundMessage("telegram", "1", "-100", "1", sender_id="7", private=False, mentioned=True)
AGENTS = validate_file(
    {
        "agents": [{"agentId": "work", "llmProvider": "demo"}],
        "bindings": [{"channel": "telegram", "chatId": "7", "agentId": "work"}],
        "channels": {"telegram": {"access": "allowlist"}},
    }
)


def admission(
    message: InboundMessage,
    access: Access = "pairing",
    *,
    bound: tuple[str, ...] = (),
    allowed: tuple[str, ...] = (),
    paired: tuple[str, ...] = (),
) -> Admission:
    """Return what is decided."""
    channel = message.channel
    bindings = [{"chatId": chat} for chat in bound if chat]
    file = build_file(access, bindings, channel, allowlist=list(allowed))
    return judge_message(file, message, {(channel, name): "operate" for name in paired})


def build_file(
    access: Access,
    bindings: Sequence[Mapping[str, JsonValue]],
    channel: str = "telegram",
    **settings: JsonValue,
) -> AgentsFile:
    """Return an agents.json with these bindings and settings of a channel."""
    own: JsonObject = {"channel": channel, "agentId": "work"}
    return validate_file(
        {
            "agents": [{"agentId": "work", "llmProvider": "demo"}],
            "bindings": [{**own, **binding} for binding in bindings],
            "channels": {channel: {"access": access, **settings}},
        }
    )


def verdict(
    message: InboundMessage, access: Access = "pairing", **known: tuple[str, ...]
) -> AdmissionDecision:
    """Return the verdict."""
    return admission(message, access, **known).verdict


@pytest.mark.parametrize("channel", ["console", "web", "api", "http", "mcp"])
def test_local_channels_are_admitted(channel: str) -> None:
    """A channel on this host with a token needs no admission."""
    message = InboundMessage(channel, "", "main", "1", "operator")
    found = judge_message(AGENTS, message, {})
    assert (found.verdict, found.operator) == (AdmissionDecision.ADMIT, channel != "http")


def test_chat_platform_is_judged_by_its_own_settings() -> None:
    """Bindings and pairings of another channel open nothing; one without settings is closed."""
    other = replace(PRIVATE, channel="carrier-pigeon")
    assert judge_message(AGENTS, PRIVATE, {}).verdict is AdmissionDecision.ADMIT
    stranger = replace(PRIVATE, chat_id="8", sender_id="8")
    pairings: dict[tuple[str, str], ChatRole] = {
        ("console", "8"): "operate",
        ("carrier-pigeon", "7"): "operate",
    }
    assert judge_message(AGENTS, stranger, pairings).verdict is AdmissionDecision.REFUSE
    assert judge_message(AGENTS, other, pairings).verdict is AdmissionDecision.REFUSE


def test_unknown_chat_gets_its_code_in_pairing_mode() -> None:
    """The default admits no stranger and says how to get admitted."""
    assert verdict(PRIVATE) is AdmissionDecision.PAIR
    assert verdict(GROUP) is AdmissionDecision.PAIR


def test_empty_allowlist_admits_no_chat() -> None:
    """Empty never means everybody (CVE-2026-28480)."""
    decided = admission(PRIVATE, "allowlist")
    assert decided.verdict is AdmissionDecision.REFUSE
    assert "allow-list" in decided.reason


def test_open_access_admits_everybody_with_a_chat() -> None:
    """Open is the operator's explicit choice."""
    assert verdict(PRIVATE, "open") is AdmissionDecision.ADMIT
    assert verdict(GROUP, "open") is AdmissionDecision.ADMIT


@pytest.mark.parametrize("access", ["pairing", "allowlist"])
def test_a_chat_that_a_binding_names_is_admitted(access: Access) -> None:
    """The chat's number in agents.json is the operator's decision."""
    assert verdict(PRIVATE, access, bound=("7",)) is AdmissionDecision.ADMIT
    assert verdict(GROUP, access, bound=("-100",)) is AdmissionDecision.ADMIT


def test_wildcard_binding_admits_no_chat() -> None:
    """Routing every chat to an agent admits none."""
    assert verdict(PRIVATE, "allowlist", bound=("*",)) is AdmissionDecision.REFUSE


def test_a_known_sender_is_admitted_in_a_group_and_others_are_not() -> None:
    """In a group the sender counts when the group itself is unknown."""
    assert verdict(GROUP, "allowlist", allowed=("7",)) is AdmissionDecision.ADMIT
    assert verdict(GROUP, "allowlist", allowed=("8",)) is AdmissionDecision.REFUSE
    assert verdict(GROUP, "pairing", paired=("7",)) is AdmissionDecision.ADMIT


def test_a_pairing_counts_only_while_pairing_is_on() -> None:
    """Switching to the allow-list closes what pairing had opened."""
    assert verdict(PRIVATE, "pairing", paired=("7",)) is AdmissionDecision.ADMIT
    assert verdict(PRIVATE, "allowlist", paired=("7",)) is AdmissionDecision.REFUSE


def test_operators_are_the_people_named_by_the_configuration_or_a_pairing() -> None:
    """Neither an open bot nor an admitted group makes its members operators."""

    def operator(
        message: InboundMessage, access: Access = "open", **known: tuple[str, ...]
    ) -> bool:
        return admission(message, access, **known).operator

    as_group = replace(GROUP, sender_id="-100", personal=False)
    assert not operator(PRIVATE)
    assert operator(PRIVATE, allowed=("7",))
    assert operator(PRIVATE, bound=("7", "*"))
    assert operator(PRIVATE, "pairing", paired=("7",))
    assert not operator(PRIVATE, paired=("7",))
    assert not operator(GROUP, bound=("-100",))
    assert not operator(as_group, bound=("-100",), allowed=("-100",))
    assert operator(GROUP, bound=("-100",), allowed=("7",))


def test_person_is_known_by_the_private_chat_where_it_has_an_id_of_its_own() -> None:
    """A room that has more members by now has no operator."""
    room = InboundMessage("matrix", "@bot:hs", "!room:hs", "$1", "@ada:hs", mentioned=True)
    for known in ({"bound": ("!room:hs",)}, {"allowed": ("@ada:hs",)}, {"paired": ("!room:hs",)}):
        assert admission(room, "pairing", **known).operator
    grown = admission(replace(room, private=False), "pairing", paired=("!room:hs",))
    assert (grown.verdict, grown.operator) == (AdmissionDecision.ADMIT, False)


@pytest.mark.parametrize(("sender", "personal"), [("-200", False), ("-100", False), ("", True)])
def test_what_speaks_in_the_name_of_a_chat_commands_nothing(sender: str, *, personal: bool) -> None:
    """A channel that a binding and the allow-list name may post in any group that lets it."""
    message = replace(GROUP, sender_id=sender, personal=personal)
    known = ("-100", "-200")
    found = admission(message, "open", bound=(*known, ""), allowed=known, paired=(*known, ""))
    assert (found.verdict, found.operator) == (AdmissionDecision.ADMIT, False)


def test_a_known_channel_opens_no_other_group() -> None:
    """Its administrators are not the people whom the operator knows."""
    posted = replace(GROUP, sender_id="-200", personal=False)
    assert verdict(posted, "allowlist", allowed=("-200",)) is AdmissionDecision.REFUSE


def test_sender_without_an_id_is_a_stranger() -> None:
    """Whatever the lists hold."""
    anonymous = InboundMessage("telegram", "1", "9", "1", sender_id="")
    assert verdict(anonymous, "pairing", paired=("",)) is AdmissionDecision.PAIR
    assert verdict(anonymous, "allowlist", bound=("",)) is AdmissionDecision.REFUSE


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"mentioned": True}, ""),
        ({"replied_to_bot": True}, ""),
        ({"kind": "press"}, ""),
        ({"kind": "edit"}, "not addressed"),
        ({}, "not addressed"),
        ({"mentioned": True, "from_bot": True}, "from a bot"),
        ({"private": True}, ""),
        ({"private": True, "from_bot": True}, "from a bot"),
    ],
)
def test_group_is_answered_when_a_person_addresses_the_bot(
    facts: dict[str, Any], reason: str
) -> None:
    """By a mention, a reply or a button; what another bot says is no instruction."""
    message = replace(GROUP, **{"mentioned": False, **facts})
    found = admission(message, allowed=("-100",))
    assert (found.reason, found.verdict is AdmissionDecision.ADMIT) == (reason, not reason)


def test_bot_gets_no_code() -> None:
    """No operator should let it in by mistake."""
    assert verdict(replace(PRIVATE, from_bot=True)) is AdmissionDecision.REFUSE


def test_an_update_without_a_chat_is_refused_even_when_open() -> None:
    """An unreadable update is recorded without a notice."""
    assert (
        verdict(InboundMessage("telegram", "1", "", "u5", ""), "open") is AdmissionDecision.REFUSE
    )


@pytest.mark.parametrize("access", ["pairing", "open"])
def test_a_message_of_an_unknown_writer_says_why(access: Access) -> None:
    """It gets no pairing code: that would go to whom it names."""
    forged = InboundMessage("email", "email", "", "m1", "", skip="the sender is not verified")
    assert admission(forged, access) == (AdmissionDecision.REFUSE, forged.skip, None)


@given(st.binary(min_size=8, max_size=8))
def test_a_pairing_code_has_eight_unambiguous_signs(random: bytes) -> None:
    """A person can read it out."""
    code = make_pairing_code(random)
    assert len(code) == 8
    assert set(code) <= set(CODE_ALPHABET)


def test_unknown_chat_gets_the_command_to_run() -> None:
    """The text is the instruction."""
    assert "orchestrator pair approve ABCDEFGH" in format_pairing_message("ABCDEFGH")


@pytest.mark.parametrize("operator", [True, False])
def test_channel_that_knows_its_sender_says_who_is_an_operator(*, operator: bool) -> None:
    """A person who may chat on the page gives no orders to the daemon."""
    message = InboundMessage("web", "local", "ann/1", "1", "ann", operator=operator)
    assert judge_message(AGENTS, message, {}).operator is operator


def role(message: InboundMessage, file: AgentsFile, paired: ChatRole | None = None) -> str | None:
    """Return the role of a sender; ``paired`` is that of the pairing of chat 7."""
    pairings: dict[tuple[str, str], ChatRole] = {}
    if paired is not None:
        pairings["telegram", "7"] = paired
    found = judge_message(file, message, pairings)
    assert found.verdict is AdmissionDecision.ADMIT
    return found.role


def test_a_written_role_counts_before_that_of_a_pairing() -> None:
    """The lowest of several counts; a bare binding does not raise what a pairing was given."""
    bare: JsonObject = {"chatId": "7"}
    talk: JsonObject = {"chatId": "7", "role": "talk"}
    assert role(PRIVATE, build_file("pairing", []), "approve") == "approve"
    assert role(PRIVATE, build_file("pairing", [bare]), "talk") == "talk"
    assert role(PRIVATE, build_file("pairing", [bare])) == "operate"
    assert role(PRIVATE, build_file("pairing", [talk]), "operate") == "talk"
    both = build_file("pairing", [talk], roles={"7": "operate"})
    assert role(PRIVATE, both, "operate") == "talk"
    listed = build_file("allowlist", [], allowlist=["7"], roles={"7": "approve"})
    assert role(PRIVATE, listed, "operate") == "approve"


def test_a_role_in_a_group_is_the_senders_own_or_that_of_the_whole_group() -> None:
    """A binding without a role makes nobody in the group more than a guest."""
    stranger = replace(GROUP, sender_id="8")
    open_group = build_file("pairing", [{"chatId": "-100"}])
    trusted = build_file("pairing", [{"chatId": "-100", "role": "approve"}])
    assert role(stranger, open_group) == "talk"
    assert role(stranger, trusted) == "approve"
    assert role(GROUP, trusted, "talk") == "talk"
    assert role(GROUP, trusted, "operate") == "operate"
    assert role(GROUP, build_file("open", [], roles={"7": "operate"})) == "operate"
    assert role(stranger, build_file("open", [], roles={"-100": "approve"})) == "approve"


def test_who_writes_in_a_chats_name_gives_commands_only_if_that_chat_is_named() -> None:
    """A linked channel or an anonymous administrator talks at most."""
    channel = replace(GROUP, sender_id="-200", personal=False)
    as_group = replace(GROUP, sender_id="-100", personal=False)
    bound = build_file("pairing", [{"chatId": "-100", "role": "operate"}])
    assert role(channel, bound) is None
    assert role(as_group, bound) == "talk"


def test_a_role_for_every_chat_is_refused() -> None:
    """A wildcard names nobody."""
    with pytest.raises(ValueError, match="role for every chat"):
        build_file("open", [{"chatId": "*", "role": "operate"}])
