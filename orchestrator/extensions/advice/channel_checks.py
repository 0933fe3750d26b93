"""Check channels that are off, and chats that cannot exist."""

from orchestrator.agentsfile.chat_ids import check_chat_id
from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.named_chats import check_named_channel, check_named_id


def check_channels(draft: Draft) -> None:
    """Warn about bindings to a channel that is off; a channel with an error has its own message."""
    bound: dict[str, int] = {}
    for number, binding in draft.bindings.items():
        bound.setdefault(binding.channel, number)
    for name, channel in draft.channels.list_sections().items():
        if name in bound and not channel.enabled and name not in draft.wrong_channels:
            draft.add_warning(
                ("channels", name, "enabled"),
                f"channel '{name}' is off, so no message comes by the binding in line"
                f' {draft.find_line("bindings", bound[name])}; set "enabled": true or remove that',
            )


def check_alerts(draft: Draft) -> None:
    """Warn about alerts to chats that cannot exist."""
    for number, agent in draft.agents.items():
        controls, place = agent.cost_controls, ("agents", number, "costControls")
        if controls is not None and controls.notify_channel:
            channel, what = controls.notify_channel, f"agent '{agent.agent_id}' sends alerts to"
            check_named_channel(draft, (*place, "notifyChannel"), what, channel)
            check_named_id(draft, (*place, "notifyChatId"), channel, controls.notify_chat_id)


def check_hosted_rules(draft: Draft) -> None:
    """Warn about rules for chats that cannot exist on a chat system of the channel host."""
    for name, section in draft.channels.hosted_channels.items():
        if section.enabled or name in draft.wrong_channels:
            for chat_id in section.groups.chats:
                reason = check_chat_id(name, chat_id)
                if reason is not None:
                    draft.add_warning(("channels", name, "groups", "chats", chat_id), reason)
