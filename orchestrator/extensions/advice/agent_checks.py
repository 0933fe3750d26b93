"""Check agents that no chat reaches, or that strangers reach, and settings that weaken jails."""

from orchestrator.agentsfile.agents_file import list_openings
from orchestrator.agentsfile.draft import Draft

SHOWN = 5  # names of agents in one warning


def check_unbound_agents(draft: Draft) -> None:
    bound = {binding.agent_id for binding in draft.bindings.values()} | {draft.fallback_agent_id}
    for channel in draft.channels.list_sections().values():
        bound |= {entry.agent_id for entry in channel.list_routed_entries().values()}
    unbound = [
        agent.agent_id
        for agent in draft.agents.values()
        if agent.enabled and agent.agent_id not in bound and "as_tool" not in agent.model_fields_set
    ]
    if unbound:
        names, rest = ", ".join(unbound[:SHOWN]), len(unbound) - SHOWN
        more = f" and {rest} more" if rest > 0 else ""
        draft.add_warning(
            (), f"no binding leads to {names}{more}; only senders that name an agent reach it"
        )


def check_joint_memory(draft: Draft) -> None:
    for number, agent in draft.agents.items():
        if not agent.enabled or agent.memory != "agent":
            continue
        bindings, fallback = draft.bindings.values(), draft.fallback_agent_id
        reasons = list_openings(agent, bindings, fallback, draft.channels)
        if reasons:
            draft.add_warning(
                ("agents", number, "memory"),
                f"agent '{agent.agent_id}' has one memory for all chats, and strangers may reach it"
                f" by {', '.join(reasons)}: they read and change what others told it; remove"
                ' "memory", or name each chat in a binding',
                agent.agent_id,
            )


def check_weakened_jails(draft: Draft) -> None:
    """Warn about settings that weaken the separation between agents."""
    if draft.sandbox == "off":
        draft.add_warning(
            ("sandbox",),
            '"sandbox" is "off": code in the process of one agent reaches the files of all; '
            "remove the line to close that",
        )
    for number, agent in draft.agents.items():
        if agent.hook_network:
            draft.add_warning(
                ("agents", number, "hookNetwork"),
                f"agent '{agent.agent_id}' has \"hookNetwork\": its hooks can send what they read "
                "to any host",
                agent.agent_id,
            )
        if agent.provenance == "off":
            draft.add_warning(
                ("agents", number, "provenance"),
                f"agent '{agent.agent_id}' has \"provenance\" off: pages, tools and strangers can "
                "make it send what it knows, and change what it does later",
                agent.agent_id,
            )
