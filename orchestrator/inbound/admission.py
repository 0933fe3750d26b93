"""Decide whether a chat may talk to the bot, before its text is stored.

Routing chooses the agent that answers a chat; admission decides whether the chat is answered.

Where: may a chat write, and is a group's message for the bot?
"""

from collections.abc import Collection
from enum import StrEnum
from typing import NamedTuple

from orchestrator.agentsfile import AgentsFile, ChatChannel, GroupRules
from orchestrator.agentsfile.text_patterns import matches_pattern
from orchestrator.channel_api import NOT_ADDRESSED, PRESS, InboundMessage

LOCAL = frozenset({"api", "console", "http", "mcp", "web"})  # with a token or a login
FORWARDING = frozenset({"http"})  # channels whose clients forward messages of other people
EVERY = ""  # the rule of messages that are for the bot without one
FROM_BOT = "from a bot"  # two bots would answer each other for ever
CODE_ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # 32 signs, without I, O, 0 and 1
CODE_LENGTH = 8  # 40 bits


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


def judge_message(
    agents: AgentsFile, message: InboundMessage, paired: Collection[tuple[str, str]]
) -> Admission:
    """Decide on a message of any channel; ``paired`` has pairs of a channel and an id."""
    if message.channel in LOCAL:
        known = message.channel not in FORWARDING
        operator = known if message.operator is None else message.operator
        return Admission(AdmissionDecision.ADMIT, operator=operator)
    settings = agents.channels.list_chat_channels().get(message.channel)
    if settings is None:
        return _build_refusal("agents.json has no such channel")
    return decide_admission(
        message,
        settings,
        bound_chats={
            binding.chat_id for binding in agents.bindings if binding.channel == message.channel
        },
        paired={chat for channel, chat in paired if channel == message.channel},
    )


def decide_admission(
    message: InboundMessage,
    settings: ChatChannel,
    *,
    bound_chats: Collection[str],
    paired: Collection[str],
) -> Admission:
    """Decide whether ``message`` of a chat platform may go on to routing.

    A chat that a binding names by its id is admitted, as is a sender or chat on the allow-list.
    Pairings count only while ``access`` is ``pairing``, so that switching to ``allowlist`` revokes
    them. In a group either the chat or the sender must be known, and the message must be for the
    bot; see `find_group_rule`. Operators are the people (not the groups or channels) that a
    binding, the allow-list or a pairing names, by their own id or that of their private chat. A
    message without a known sender has no chat, and ``skip`` says why.
    """
    if not message.chat_id:
        return _build_refusal(message.skip or "the update names no chat")
    if message.from_bot:
        return _build_refusal(FROM_BOT)
    trusted = {*settings.allowlist, *(paired if settings.access == "pairing" else ())}
    known = message.chat_id in trusted or _is_operator(message, trusted)
    if not (known or message.chat_id in bound_chats or settings.access == "open"):
        if settings.access == "pairing":
            return Admission(AdmissionDecision.PAIR, "not paired yet")
        return _build_refusal("neither chat nor sender is on the allow-list")
    if find_group_rule(message, settings.groups) is None:
        return _build_refusal(NOT_ADDRESSED)
    return Admission(
        AdmissionDecision.ADMIT, operator=_is_operator(message, trusted | {*bound_chats})
    )


def is_passed_over(agents: AgentsFile, message: InboundMessage) -> bool:
    """Return whether people say a message to each other, so that no agent answers."""
    settings = agents.channels.list_chat_channels().get(message.channel)
    return settings is not None and find_group_rule(message, settings.groups) is None


def find_group_rule(message: InboundMessage, groups: GroupRules) -> str | None:
    """Return the rule that addresses a message to the bot; None if it is not addressed.

    The rule is "all", "reply", "mention" or a pattern in quotes, and `EVERY` in private chats and
    for buttons. A mention or a pattern counts only in the sender's own words: not in a message that
    was forwarded, and a pattern not in lines that quote (``> ``).
    """
    if message.private or message.kind == PRESS:
        return EVERY
    rules = groups.find_group_rules(message.chat_id)
    if "all" in rules.answer:
        return "all"
    if "reply" in rules.answer and message.replied_to_bot:
        return "reply"
    if message.origin != "user":
        return None
    if "mention" in rules.answer and message.mentioned:
        return "mention"
    lines = message.text.split("\n") if rules.patterns else ()
    own = "\n".join(line for line in lines if not line.lstrip().startswith(">"))
    return next(
        (repr(pattern) for pattern in rules.patterns if matches_pattern(pattern, own)), None
    )


def _build_refusal(reason: str) -> Admission:
    return Admission(AdmissionDecision.REFUSE, reason)


def _is_operator(message: InboundMessage, trusted: set[str]) -> bool:
    """Return whether the sender is an operator.

    A message in the name of a group or channel may come from any of its administrators, and a
    group repeats the posts of its channel, so these do not count.
    """
    own = {message.sender_id, message.chat_id if message.private else ""} - {""}
    return message.personal and not own.isdisjoint(trusted)


def make_pairing_code(random: bytes) -> str:
    """Make a pairing code from at least 8 random bytes.

    256 is a multiple of the 32 characters, so each is equally likely.
    """
    return "".join(CODE_ALPHABET[byte % len(CODE_ALPHABET)] for byte in random[:CODE_LENGTH])


def format_pairing_message(code: str) -> str:
    return f"I don't know you yet. Ask my operator to run: orchestrator pair approve {code}"
