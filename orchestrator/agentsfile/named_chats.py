"""Checks of chats to which settings make the daemon write."""

from orchestrator.agentsfile.chat_ids import check_chat_id
from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.mounting import list_channel_names
from orchestrator.agentsfile.positions import JsonPath
from orchestrator.agentsfile.problems import suggest_name


def check_named_channel(draft: Draft, at: JsonPath, what: str, channel: str) -> None:
    """Warn about an unknown channel, or one where the daemon cannot write first.

    ``what`` begins the message, such as ``agent 'work' sends alerts to``.
    """
    sections = draft.channels.list_sections()
    silent = {name for name, section in sections.items() if not section.takes_notices}
    known = [
        name for name in {**dict.fromkeys(list_channel_names()), **sections} if name not in silent
    ]
    if channel not in known:
        advice = suggest_name(channel, known)
        draft.add_warning(at, f'{what} the unknown channel "{channel}"{advice}')
    elif channel not in sections:
        draft.add_warning(at, f"{what} {channel}, but there is no channels.{channel}; add it")


def check_named_id(draft: Draft, at: JsonPath, channel: str, chat_id: str | None) -> None:
    """Warn about an id that no chat of the channel can have."""
    reason = None if chat_id is None else check_chat_id(channel, chat_id, written_to=True)
    if reason is not None:
        draft.add_warning(at, reason)
