"""Telegram groups of agents.json that became supergroups, which have new ids.

The rest of the daemon knows such a chat by its first id. Both ids work in the file; for a first id
there is a warning, so that the file comes to say what Telegram says.
"""

from collections.abc import Mapping

from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.positions import JsonPath

CHANNEL = "telegram"
OUTDATED = (
    "the group {old} became the supergroup {new}; both ids work here, write {new} so that the file"
    " names the chat that Telegram shows"
)


def use_first_ids(draft: Draft, first: Mapping[str, str]) -> None:
    """Warn of first ids, and put them in the place of new ones.

    Args:
        draft: the file; its bindings, its allow-list and its rules for groups change.
        first: the first ids of moved chats by their new ids.
    """
    newest = {old: new for new, old in first.items()}

    def warn(path: JsonPath, name: str | None) -> None:
        if name in newest:
            draft.warn(path, OUTDATED.format(old=name, new=newest[name]))

    for number, binding in draft.bindings.items():
        if binding.channel == CHANNEL:
            warn(("bindings", number, "chatId"), binding.chat_id)
            chat_id = first.get(binding.chat_id, binding.chat_id)
            draft.bindings[number] = binding.model_copy(update={"chat_id": chat_id})
    telegram = draft.channels.telegram
    for number, name in enumerate(telegram.allowlist):
        warn(("channels", CHANNEL, "allowlist", number), name)
    for name in telegram.groups.chats:
        warn(("channels", CHANNEL, "groups", "chats", name), name)
    allowed = tuple(first.get(name, name) for name in telegram.allowlist)
    chats = {first.get(name, name): rules for name, rules in telegram.groups.chats.items()}
    groups = telegram.groups.model_copy(update={"chats": chats})
    telegram = telegram.model_copy(update={"allowlist": allowed, "groups": groups})
    draft.channels = draft.channels.model_copy(update={CHANNEL: telegram})
    for number, agent in draft.agents.items():
        controls = agent.cost_controls
        if controls is not None and controls.notify_channel == CHANNEL:
            warn(("agents", number, "costControls", "notifyChatId"), controls.notify_chat_id)
