"""Find ids that no chat of a channel can have; settings for them have no effect."""

import re

from orchestrator.agentsfile.channel_kinds import load_channel_kinds, split_account
from orchestrator.agentsfile.chat_channels import ChatChannel
from orchestrator.agentsfile.mounting import load_models


def check_chat_id(channel: str, chat_id: str, *, written_to: bool = False) -> str | None:
    """Return the problem of a chat's id and what to write instead; None if it is possible.

    ``written_to`` says that messages are sent there; for that a platform may accept other names.
    """
    system, _ = split_account(channel)
    kind = load_channel_kinds().get(system)
    field = load_models().channels.model_fields.get(system)
    if field is not None and isinstance(field.default, ChatChannel):
        title = field.default.title
        is_id = field.default.is_chat_id(chat_id, written_to=written_to)
    elif kind is not None:
        title, is_id = kind.title, re.fullmatch(kind.id_pattern, chat_id) is not None
    else:
        return None
    if is_id:
        return None
    return (
        f'no chat of {title} is called "{chat_id}", so this has no effect; write its id, as'
        " orchestrator status shows it"
    )
