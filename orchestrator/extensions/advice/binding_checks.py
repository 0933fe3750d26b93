"""Check for bindings that never apply, or not as they seem to."""

from collections import defaultdict
from itertools import islice

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
    first = defaultdict[tuple[str, str], dict[str, int]](dict)  # of each agent, keyed by place
    for number, binding in draft.bindings.items():
        beaten = [
            earlier
            for place in _list_broader_places(binding)
            for agent_id, earlier in islice(first[place].items(), 2)
            if agent_id != binding.agent_id
        ]
        if binding.thread_id is None:
            first[binding.channel, binding.chat_id].setdefault(binding.agent_id, number)
        if beaten:
            broader = draft.bindings[min(beaten)]
            draft.add_warning(
                ("bindings", number),
                f"binding {binding.place} beats {broader.place} in line"
                f" {draft.find_line('bindings', min(beaten))}, because the most specific one"
                f" applies and not the first: '{binding.agent_id}' answers it, not"
                f" '{broader.agent_id}'; move it before that line to make this plain",
            )


def _list_broader_places(binding: Binding) -> list[tuple[str, str]]:
    """Return channel and chat of the bindings that match whatever this one matches, and more."""
    if binding.chat_id == "*":
        return []
    every = [(binding.channel, "*")]
    return every if binding.thread_id is None else [*every, (binding.channel, binding.chat_id)]


def check_bound_ids(draft: Draft) -> None:
    """Warn about bindings to impossible chat ids, in the channels that are on."""
    guarded = draft.channels.list_chat_channels()
    for number, binding in draft.bindings.items():
        channel = guarded.get(binding.channel)
        if channel is not None and channel.enabled and "*" not in binding.chat_id:
            reason = check_chat_id(binding.channel, binding.chat_id)
            if reason is not None:
                draft.add_warning(("bindings", number, "chatId"), reason)
