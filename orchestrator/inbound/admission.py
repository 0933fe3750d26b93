"""Decide whether a chat may talk to the bot, before its text is stored.

Routing chooses the agent that answers a chat; admission decides whether the chat is answered.

Where: may a chat write, and is a group's message for the bot?
"""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import NamedTuple

from orchestrator.agentsfile import AgentsFile, ChatChannel, GroupRules
from orchestrator.agentsfile.chat_roles import find_role, find_written_role
from orchestrator.agentsfile.text_patterns import matches_pattern
from orchestrator.channel_api import NOT_ADDRESSED, PRESS, ChatRole, InboundMessage

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

    ``role`` is what the sender may do; None for one whose messages are never commands.
    """

    verdict: AdmissionDecision
    reason: str = ""
    role: ChatRole | None = None

    @property
    def operator(self) -> bool:
        """Whether the sender may use all chat commands."""
        return self.role == "operate"


def judge_message(
    agents: AgentsFile, message: InboundMessage, paired: Mapping[tuple[str, str], ChatRole]
) -> Admission:
    """Decide on a message of any channel; ``paired`` has roles, keyed by channel and id."""
    if message.channel in LOCAL:
        known = message.channel not in FORWARDING
        operator = known if message.operator is None else message.operator
        return Admission(AdmissionDecision.ADMIT, role="operate" if operator else "talk")
    settings = agents.channels.list_chat_channels().get(message.channel)
    if settings is None:
        return _build_refusal("agents.json has no such channel")
    found = decide_admission(
        message,
        settings,
        bound_chats=agents.list_bound_chats(message.channel),
        paired={chat for channel, chat in paired if channel == message.channel},
    )
    if found.verdict is not AdmissionDecision.ADMIT:
        return found
    return found._replace(role=_find_sender_role(agents, message, paired))


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
    bot; see `find_group_rule`. A message without a known sender has no chat, and ``skip`` says why.
    """
    if not message.chat_id:
        return _build_refusal(message.skip or "the update names no chat")
    if message.from_bot:
        return _build_refusal(FROM_BOT)
    trusted = {*settings.allowlist, *(paired if settings.access == "pairing" else ())}
    own = _list_own_ids(message) if message.personal else ()
    known = message.chat_id in trusted or not trusted.isdisjoint(own)
    if not (known or message.chat_id in bound_chats or settings.access == "open"):
        if settings.access == "pairing":
            return Admission(AdmissionDecision.PAIR, "not paired yet")
        return _build_refusal("neither chat nor sender is on the allow-list")
    if find_group_rule(message, settings.groups) is None:
        return _build_refusal(NOT_ADDRESSED)
    return Admission(AdmissionDecision.ADMIT)


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


def _find_sender_role(
    agents: AgentsFile, message: InboundMessage, paired: Mapping[tuple[str, str], ChatRole]
) -> ChatRole | None:
    """Return the role of an admitted sender: the own one, or that of everyone in the group.

    A message in the name of a group or channel may come from any of its administrators, and a
    group repeats the posts of its channel: such a sender may talk at most, and commands count only
    if agents.json names the group or channel.
    """
    channel = message.channel
    if not message.personal:
        named = find_role(agents, channel, {message.sender_id}, {})
        return None if named is None else "talk"
    own = find_role(agents, channel, _list_own_ids(message), paired)
    if own is None and not message.private:
        own = find_written_role(agents, channel, {message.chat_id})
    return own or "talk"


def _list_own_ids(message: InboundMessage) -> set[str]:
    """Return the ids of a person: the own one, and that of the private chat."""
    return {message.sender_id, message.chat_id if message.private else ""} - {""}


def make_pairing_code(random: bytes) -> str:
    """Make a pairing code from at least 8 random bytes.

    256 is a multiple of the 32 characters, so each is equally likely.
    """
    return "".join(CODE_ALPHABET[byte % len(CODE_ALPHABET)] for byte in random[:CODE_LENGTH])


def format_pairing_message(code: str) -> str:
    return (
        "I don't know you yet. Ask my operator to let you in: on the page, or with"
        f" orchestrator pair approve {code}"
    )
