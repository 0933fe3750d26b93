"""Check for bindings that never apply, or not as they seem to."""

from orchestrator.agentsfile.agents_file import Binding
from orchestrator.agentsfile.chat_ids import check_chat_id
from orchestrator.agentsfile.draft import Draft


def check_bindings(draft: Draft) -> None:
    """Warn about bindings to disabled agents, partial wildcards and repeated places."""
    enabled = {agent.agent_id: agent.enabled for agent in draft.agents.values()}
    first: dict[str, int] = {}
    for number, binding in draft.bindings.items():
        path = ("bindings", number)
        what = f"binding {binding.place}"
        if not enabled.get(binding.agent_id, True):
            draft.add_warning(
                path, f"{what} leads to the disabled agent '{binding.agent_id}': it refuses"
            )
        if "*" in binding.chat_id and binding.chat_id != "*":
            draft.add_warning(
                (*path, "chatId"),
                f'{what} matches no chat; "*" works only alone, so write it or a whole id',
            )
        if binding.place in first:
            line = draft.find_line("bindings", first[binding.place])
            draft.add_warning(
                path, f"{what} never applies, line {line} has the same place; remove one"
            )
        first.setdefault(binding.place, number)
    fallback = draft.fallback_agent_id
    if fallback is not None and not enabled.get(fallback, True):
        draft.add_warning(
            ("fallbackAgentId",),
            f"\"fallbackAgentId\" names the disabled agent '{fallback}': it refuses",
        )


def check_binding_order(draft: Draft) -> None:
    """Warn where the first matching binding and the most specific one name different agents."""
    bindings = list(draft.bindings.items())
    for place, (number, binding) in enumerate(bindings):
        for earlier, broader in bindings[:place]:
            if broader.agent_id != binding.agent_id and _covers_binding(broader, binding):
                draft.add_warning(
                    ("bindings", number),
                    f"binding {binding.place} beats {broader.place} in line"
                    f" {draft.find_line('bindings', earlier)}, because the most specific one"
                    f" applies and not the first: '{binding.agent_id}' answers it, not"
                    f" '{broader.agent_id}'; move it before that line to make this plain",
                )
                break


def _covers_binding(broader: Binding, binding: Binding) -> bool:
    """Return whether every message of one binding would match another, broader one."""
    if broader.channel != binding.channel or broader.thread_id is not None:
        return False
    if broader.chat_id == "*":
        return binding.chat_id != "*"
    return broader.chat_id == binding.chat_id and binding.thread_id is not None


def check_bound_ids(draft: Draft) -> None:
    """Warn about bindings to impossible chat ids, in the channels that are on."""
    guarded = draft.channels.list_chat_channels()
    for number, binding in draft.bindings.items():
        channel = guarded.get(binding.channel)
        if channel is not None and channel.enabled and "*" not in binding.chat_id:
            reason = check_chat_id(binding.channel, binding.chat_id)
            if reason is not None:
                draft.add_warning(("bindings", number, "chatId"), reason)
