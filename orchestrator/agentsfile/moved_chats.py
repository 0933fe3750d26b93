"""Accept both ids of a moved chat, such as a Telegram group that became a supergroup.

The rest of the daemon knows such a chat by its first id. Both ids work in the file; a first id
causes a warning, so that the file comes to match the platform.
"""

from collections.abc import Mapping

from orchestrator.agentsfile.chat_channels import ChatChannel
from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.positions import JsonPath

OUTDATED = (
    "the chat {old} has the id {new} now; both ids work here, write {new} so that the file names"
    " the chat as {platform} does"
)


def use_first_ids(draft: Draft, moved: Mapping[str, Mapping[str, str]]) -> None:
    """Replace new ids by first ids, and warn about first ids in the file.

    Args:
        draft: the file; its bindings, its allow-lists and its rules for groups change.
        moved: the first ids of moved chats, keyed by new id, for each channel.
    """
    for name, first in moved.items():
        channel = draft.channels.list_chat_channels().get(name)
        if channel is not None and first:
            _use_first_ids_of(draft, name, channel, first)


def _use_first_ids_of(
    draft: Draft, name: str, channel: ChatChannel, first: Mapping[str, str]
) -> None:
    newest = {old: new for new, old in first.items()}

    def warn_about_first_id(path: JsonPath, chat_id: str | None) -> None:
        if chat_id in newest:
            text = OUTDATED.format(
                old=chat_id, new=newest[chat_id], platform=channel.title or "its platform"
            )
            draft.add_warning(path, text)

    for number, binding in draft.bindings.items():
        if binding.channel == name:
            warn_about_first_id(("bindings", number, "chatId"), binding.chat_id)
            chat_id = first.get(binding.chat_id, binding.chat_id)
            draft.bindings[number] = binding.model_copy(update={"chat_id": chat_id})
    for number, person in enumerate(channel.allowlist):
        warn_about_first_id(("channels", name, "allowlist", number), person)
    for chat_id in channel.roles:
        warn_about_first_id(("channels", name, "roles", chat_id), chat_id)
    for chat_id in channel.groups.chats:
        warn_about_first_id(("channels", name, "groups", "chats", chat_id), chat_id)
    allowed = tuple(first.get(person, person) for person in channel.allowlist)
    roles = {first.get(person, person): role for person, role in channel.roles.items()}
    chats = {first.get(chat_id, chat_id): rules for chat_id, rules in channel.groups.chats.items()}
    groups = channel.groups.model_copy(update={"chats": chats})
    changed = {"allowlist": allowed, "roles": roles, "groups": groups}
    draft.replace_channel(name, channel.model_copy(update=changed))
    for number, agent in draft.agents.items():
        controls = agent.cost_controls
        if controls is not None and controls.notify_channel == name:
            warn_about_first_id(
                ("agents", number, "costControls", "notifyChatId"), controls.notify_chat_id
            )
