"""The roles of people on chat platforms: what each may do in a chat."""

from collections.abc import Collection, Mapping

from orchestrator.agentsfile.agents_file import AgentsFile
from orchestrator.channel_api import ROLES, ChatRole


def covers_role(role: ChatRole | None, needed: ChatRole) -> bool:
    """Return whether a role includes another one; None is that of a stranger."""
    return role is not None and ROLES.index(role) >= ROLES.index(needed)


def find_written_role(agents: AgentsFile, channel: str, names: Collection[str]) -> ChatRole | None:
    """Return the lowest role that agents.json gives these ids of a channel, if any."""
    found = [
        item.role
        for name in names
        for item in agents.list_bindings(channel, name)
        if item.role is not None and item.chat_id == name
    ]
    settings = agents.channels.list_chat_channels().get(channel)
    if settings is not None:
        found += [settings.roles[name] for name in names if name in settings.roles]
    return min(found, key=ROLES.index, default=None)


def find_role(
    agents: AgentsFile,
    channel: str,
    names: Collection[str],
    paired: Mapping[tuple[str, str], ChatRole],
) -> ChatRole | None:
    """Return the role of the person with these ids; None if nothing names the person.

    ``paired`` has the roles of pairings, which count only while ``access`` is ``pairing``, and
    after those in agents.json. Whom a binding or the allow-list names without a role may operate.
    """
    settings = agents.channels.list_chat_channels().get(channel)
    if settings is None:
        return None
    found = find_written_role(agents, channel, names)
    if found is None and settings.access == "pairing":
        known = [paired[channel, name] for name in names if (channel, name) in paired]
        found = min(known, key=ROLES.index, default=None)
    if found is None:
        bound = agents.list_bound_chats(channel)
        named = any(name in bound or name in settings.allowlist for name in names)
        found = "operate" if named else None
    return found
