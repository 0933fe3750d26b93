"""Decide what a turn may read and change of its agent's memory, and which chats it may write to.

A turn works with the memory of its chat: ``channel:chat_id``. The setting ``memory`` of its agent
joins all chats.
"""

from orchestrator.agentsfile import AgentsFile
from orchestrator.journal.access import pairing
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.memory_scope import EVERY, MemoryScope
from orchestrator.journal.turns import inbox

OPERATED = frozenset({"console"})  # channels on which only the operator writes
OPERATED_CHATS = "mcp", "operator/"  # a channel, and how its chats of the operator begin
CLIENT = "api:"  # the scope of the HTTP API's client itself, without a user
TASK_CHAT = f"{inbox.TASK}-"  # begins the names of console chats that keep outcomes of tasks


def memory_of(agents: AgentsFile, db: Database, agent_id: str, scope: str) -> MemoryScope:
    """Return what a turn of an agent in a scope may read and change.

    By default, only the operator's own chats share a memory: in a group others read, and an agent
    that takes strangers may have handed a chat over.
    """
    agent, joins = agents.agent(agent_id), agents.joins_chats(agent_id)
    explicit = agent is not None and agent.memory is not None
    own = (joins and (explicit or scope == CLIENT)) or is_operators(agents, db, scope)
    return MemoryScope(agent_id, scope, joined=joins and own, shared=own)


def is_operators(agents: AgentsFile, db: Database, scope: str) -> bool:
    """Return whether a scope is an operator's own chat, or that of tasks in files of skills.

    A group is not: others read there. Nor is a client of the HTTP interfaces, which passes on
    messages of other people.
    """
    channel, _, chat = scope.partition(":")
    if scope == EVERY or channel in OPERATED:
        return not chat.startswith(TASK_CHAT)
    if channel == OPERATED_CHATS[0]:
        return chat.startswith(OPERATED_CHATS[1])
    settings = agents.channels.guarded().get(channel)
    if settings is None:
        return False
    names, private = {chat}, settings.is_person(chat)
    if private is None:
        last = inbox.newest_of(db, channel, chat)
        names, private = (
            {chat, last.sender_id} if last else names,
            last is not None and last.private,
        )
    if not private:
        return False
    if not names.isdisjoint(settings.allowlist) or _bound(agents, channel, chat):
        return True
    return settings.access == "pairing" and pairing.is_approved(db, channel, chat)


def may_write(
    agents: AgentsFile, memory: MemoryScope, db: Database, channel: str, chat_id: str
) -> bool:
    """Return whether a turn may send messages to a chat that has written to its agent."""
    target = f"{channel}:{chat_id}"
    if memory.joined or target == memory.chat:
        return True
    if not memory.shared:
        return False
    return (
        _bound(agents, channel, chat_id)
        or _notified(agents, channel, chat_id)
        or is_operators(agents, db, target)
    )


def _bound(agents: AgentsFile, channel: str, chat: str) -> bool:
    return any((item.channel, item.chat_id) == (channel, chat) for item in agents.bindings)


def _notified(agents: AgentsFile, channel: str, chat: str) -> bool:
    return any(
        (controls.notify_channel or "telegram", controls.notify_chat_id) == (channel, chat)
        for agent in agents.agents
        if (controls := agent.cost_controls) is not None
    )
