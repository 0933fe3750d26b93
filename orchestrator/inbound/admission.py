"""Decide whether a chat may talk to the bot at all, before routing and before its text is stored.

Routing chooses the agent that answers a chat; admission decides whether the chat is answered.
"""

import re
from collections.abc import Collection
from enum import StrEnum
from typing import NamedTuple

from orchestrator.agentsfile import Access, AgentsFile
from orchestrator.channel_api import InboundMessage

GUARDED = frozenset({"telegram"})  # other channels are reached on this host only, with a token
FORWARDING = frozenset({"http"})  # channels whose clients forward messages of other people
CODE_ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # 32 signs, without I, O, 0 and 1
CODE_LENGTH = 8  # 40 bits

# User names change hands, so only numeric ids identify a person (CVE-2026-28480).
_NUMERIC = re.compile(r"-?\d{1,19}", re.ASCII)
_PERSON = re.compile(r"\d{1,19}", re.ASCII)  # groups and channels have negative ids


class AdmissionDecision(StrEnum):
    """What to do with a message."""

    ADMIT = "admit"
    PAIR = "pair"  # send the chat its pairing code
    REFUSE = "refuse"


class Admission(NamedTuple):
    """A verdict. ``reason`` goes to the audit log; it is empty for an admitted message.

    ``operator`` says whether the sender may use all chat commands.
    """

    verdict: AdmissionDecision
    reason: str = ""
    operator: bool = False


def judge(
    agents: AgentsFile, message: InboundMessage, paired: Collection[tuple[str, str]]
) -> Admission:
    """Decide by agents.json and the chats that are paired, each with its channel; see `decide`."""
    telegram = agents.channels.telegram
    return decide(
        message,
        access=telegram.access,
        bound_chats={
            binding.chat_id for binding in agents.bindings if binding.channel == message.channel
        },
        allowlist=telegram.allowlist,
        paired={chat for channel, chat in paired if channel == message.channel},
    )


def decide(
    message: InboundMessage,
    *,
    access: Access,
    bound_chats: Collection[str],
    allowlist: Collection[str],
    paired: Collection[str],
) -> Admission:
    """Decide whether ``message`` may go on to routing.

    A chat that a binding names by its id is admitted, as is a sender or chat on the allow-list.
    Pairings count only while ``access`` is ``pairing``, so that switching to ``allowlist`` revokes
    them. In a group either the chat or the sender must be known. Operators are the people (not
    the groups or channels) that a binding, the allow-list or a pairing names. Only numeric ids
    count.
    """
    if message.channel not in GUARDED:
        known = message.channel not in FORWARDING
        return Admission(
            AdmissionDecision.ADMIT,
            operator=known if message.operator is None else message.operator,
        )
    if not _NUMERIC.fullmatch(message.chat_id):
        return Admission(AdmissionDecision.REFUSE, "the update names no chat")
    trusted = {*allowlist, *(paired if access == "pairing" else ())}
    known = message.chat_id in trusted or _is_operator(message, trusted)
    if message.chat_id in bound_chats or known or access == "open":
        return Admission(
            AdmissionDecision.ADMIT, operator=_is_operator(message, trusted | {*bound_chats})
        )
    if access == "pairing":
        return Admission(AdmissionDecision.PAIR, "not paired yet")
    return Admission(AdmissionDecision.REFUSE, "neither chat nor sender is on the allow-list")


def _is_operator(message: InboundMessage, trusted: set[str]) -> bool:
    """Return whether the sender is a trusted person.

    A message in the name of a group or channel may come from any of its administrators, and a
    group repeats the posts of its channel, so these do not count.
    """
    return message.sender_id in trusted and _PERSON.fullmatch(message.sender_id) is not None


def pairing_code(random: bytes) -> str:
    """Make a code from at least 8 random bytes.

    256 is a multiple of the 32 characters, so each is equally likely.
    """
    return "".join(CODE_ALPHABET[byte % len(CODE_ALPHABET)] for byte in random[:CODE_LENGTH])


def pairing_text(code: str) -> str:
    return f"I don't know you yet. Ask my operator to run: orchestrator pair approve {code}"
