"""Ids that no chat of a channel can have: what names one of them has no effect."""

import re

from orchestrator.agentsfile.channel_kinds import channel_kinds
from orchestrator.agentsfile.draft import Draft

TELEGRAM = "telegram"
NUMBER = re.compile(r"-?[0-9]+")
PUBLIC_NAME = re.compile(r"@[A-Za-z]\w{3,31}", re.ASCII)  # of a channel, which can be written to


def no_chat(channel: str, chat_id: str, *, written_to: bool = False) -> str | None:
    """Return why no chat has an id, and what to write; None if one may.

    ``written_to``: messages are sent there, which Telegram takes a public name for. Those that
    come in have a number.
    """
    kind = channel_kinds().get(channel)
    if channel == TELEGRAM:
        title, is_id = "Telegram", NUMBER.fullmatch(chat_id) is not None
        is_id = is_id or (written_to and PUBLIC_NAME.fullmatch(chat_id) is not None)
    elif kind is not None:
        title, is_id = kind.title, re.fullmatch(kind.id_pattern, chat_id) is not None
    else:
        return None
    return (
        None
        if is_id
        else (
            f'no chat of {title} is called "{chat_id}", so this has no effect; write its id, as'
            " orchestrator status shows it"
        )
    )


def check_bound_ids(draft: Draft) -> None:
    """Warn of bindings for chats that cannot be, in the channels that are on."""
    guarded = draft.channels.guarded()
    for number, binding in draft.bindings.items():
        channel = guarded.get(binding.channel)
        if channel is not None and channel.enabled and "*" not in binding.chat_id:
            reason = no_chat(binding.channel, binding.chat_id)
            if reason is not None:
                draft.warn(("bindings", number, "chatId"), reason)
