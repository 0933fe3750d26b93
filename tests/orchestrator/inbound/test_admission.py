"""Admission: which chats are admitted, get a pairing code, or are refused."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.agentsfile import Access
from orchestrator.channel_api import InboundMessage
from orchestrator.inbound.admission import (
    CODE_ALPHABET,
    AdmissionDecision,
    decide,
    pairing_code,
    pairing_text,
)

PRIVATE = InboundMessage("telegram", "1", chat_id="7", message_id="1", sender_id="7")
GROUP = InboundMessage("telegram", "1", "-100", "1", sender_id="7", private=False)


def verdict(
    message: InboundMessage,
    access: Access = "pairing",
    *,
    bound: tuple[str, ...] = (),
    allowed: tuple[str, ...] = (),
    paired: tuple[str, ...] = (),
) -> AdmissionDecision:
    """Return the verdict."""
    return decide(
        message, access=access, bound_chats=bound, allowlist=allowed, paired=paired
    ).verdict


@pytest.mark.parametrize("channel", ["console", "web", "api"])
def test_local_channels_are_admitted(channel: str) -> None:
    """A channel on this host with a token needs no admission."""
    message = InboundMessage(channel, "", "main", "1", "operator")
    assert verdict(message, "allowlist") is AdmissionDecision.ADMIT


def test_unknown_chat_gets_its_code_in_pairing_mode() -> None:
    """The default admits no stranger and says how to get admitted."""
    assert verdict(PRIVATE) is AdmissionDecision.PAIR
    assert verdict(GROUP) is AdmissionDecision.PAIR


def test_empty_allowlist_admits_no_chat() -> None:
    """Empty never means everybody (CVE-2026-28480)."""
    decided = decide(PRIVATE, access="allowlist", bound_chats=(), allowlist=(), paired=())
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
        lists = {"bound_chats": (), "allowlist": (), "paired": ()} | known
        return decide(message, access=access, **lists).operator

    console = InboundMessage("console", "", "main", "1", "operator")
    as_group = InboundMessage("telegram", "1", "-100", "1", sender_id="-100", private=False)
    assert operator(console)
    assert not operator(PRIVATE)
    assert operator(PRIVATE, allowlist=("7",))
    assert operator(PRIVATE, bound_chats=("7", "*"))
    assert operator(PRIVATE, "pairing", paired=("7",))
    assert not operator(PRIVATE, paired=("7",))
    assert not operator(GROUP, bound_chats=("-100",))
    assert not operator(as_group, bound_chats=("-100",), allowlist=("-100",))
    assert operator(GROUP, bound_chats=("-100",), allowlist=("7",))


@pytest.mark.parametrize("sender", ["-200", "-100", "\u0667", "7 ", "+7", ""])
def test_what_speaks_in_the_name_of_a_chat_commands_nothing(sender: str) -> None:
    """A channel that a binding and the allow-list name may post in any group that lets it."""
    message = replace(GROUP, sender_id=sender)
    known = ("-100", "-200", "\u0667", "7 ", "+7", "")
    found = decide(message, access="open", bound_chats=known, allowlist=known, paired=known)
    assert (found.verdict, found.operator) == (AdmissionDecision.ADMIT, False)


def test_a_known_channel_opens_no_other_group() -> None:
    """Its administrators are not the people whom the operator knows."""
    posted = replace(GROUP, sender_id="-200")
    assert verdict(posted, "allowlist", allowed=("-200",)) is AdmissionDecision.REFUSE


def test_a_name_on_the_allowlist_opens_nothing() -> None:
    """Usernames change hands; a message that carries one as its id is refused."""
    named = InboundMessage("telegram", "1", "@ada", "1", "ada")
    assert verdict(named, "allowlist", allowed=("@ada", "ada")) is AdmissionDecision.REFUSE
    anonymous = InboundMessage("telegram", "1", "9", "1", sender_id="")
    assert verdict(anonymous, "allowlist", allowed=("",)) is AdmissionDecision.REFUSE


def test_an_update_without_a_chat_is_refused_even_when_open() -> None:
    """An unreadable update is recorded without a notice."""
    assert (
        verdict(InboundMessage("telegram", "1", "", "u5", ""), "open") is AdmissionDecision.REFUSE
    )


@given(st.binary(min_size=8, max_size=8))
def test_a_pairing_code_has_eight_unambiguous_signs(random: bytes) -> None:
    """A person can read it out."""
    code = pairing_code(random)
    assert len(code) == 8
    assert set(code) <= set(CODE_ALPHABET)


def test_unknown_chat_gets_the_command_to_run() -> None:
    """The text is the instruction."""
    assert "orchestrator pair approve ABCDEFGH" in pairing_text("ABCDEFGH")


@pytest.mark.parametrize("operator", [True, False])
def test_channel_that_knows_its_sender_says_who_is_an_operator(*, operator: bool) -> None:
    """A person who may chat on the page gives no orders to the daemon."""
    message = InboundMessage("web", "local", "ann/1", "1", "ann", operator=operator)
    found = decide(message, access="open", bound_chats=(), allowlist=(), paired=())
    assert found.operator is operator
