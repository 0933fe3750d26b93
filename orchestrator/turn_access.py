"""Decide which memory a turn may read and change, and which chats it may write to.

A turn works with the memory of its chat: ``channel:chat_id``. The setting ``memory`` of its agent
joins all chats.

Where: is the memory scope of a turn decided, and the chats that it may write to?
"""

from orchestrator.agentsfile import AgentsFile, ChatChannel
from orchestrator.agentsfile.chat_roles import covers_role, find_role, find_written_role
from orchestrator.journal.access import pairing
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.memory_scope import EVERY, MemoryScope
from orchestrator.journal.turns import inbox
from orchestrator.journal.turns.outbox import Address

OPERATED = frozenset({"console"})  # channels on which only the operator writes
OPERATED_CHATS = "mcp", "operator/"  # a channel, and how its chats of the operator begin
CLIENT = "api:"  # the scope of the HTTP API's client itself, without a user
TASK_CHAT = f"{inbox.TASK}-"  # begins the names of console chats that keep outcomes of tasks


def find_folder_scope(memory: MemoryScope) -> str:
    """Return the scope in whose folder a turn works; `EVERY` is the folder of the operator.

    Chats that share their memory share one, and the operator's own chats are one person's, those on
    the page too.
    """
    page = memory.chat.startswith(f"web:{OPERATED_CHATS[1]}")
    return EVERY if memory.all_chats or page else memory.chat


def build_memory_scope(agents: AgentsFile, db: Database, agent_id: str, scope: str) -> MemoryScope:
    """Return the memory that an agent's turn in a scope may read and change.

    By default, only the operator's own chats share a memory: in a group others read, and an agent
    that takes strangers may have handed a chat over.
    """
    joins = agents.joins_chats(agent_id)
    agent = agents.find_agent(agent_id) if joins else None
    explicit = agent is not None and agent.memory is not None
    own = (joins and (explicit or scope == CLIENT)) or is_operator_scope(agents, db, scope)
    return MemoryScope(agent_id, scope, joined=joins and own, shared=own)


def is_operator_scope(agents: AgentsFile, db: Database, scope: str) -> bool:
    """Return whether a scope is an operator's own chat or a task of a skill file.

    A group is not: others read there. Nor is a client of the HTTP interfaces, which passes on
    messages of other people.
    """
    channel, _, chat = scope.partition(":")
    if scope == EVERY or channel in OPERATED:
        return not chat.startswith(TASK_CHAT)
    if channel == OPERATED_CHATS[0]:
        return chat.startswith(OPERATED_CHATS[1])
    settings = agents.channels.list_chat_channels().get(channel)
    return settings is not None and _is_operator_chat(agents, db, settings, channel, chat)


def _is_operator_chat(
    agents: AgentsFile, db: Database, settings: ChatChannel, channel: str, chat: str
) -> bool:
    """Return whether a chat is private, and of a person who may operate."""
    bound, pairing_counts = _is_bound(agents, channel, chat), settings.access == "pairing"
    if not (bound or pairing_counts or settings.allowlist or settings.roles):
        return False
    names, private = {chat}, settings.is_person(chat)
    if private is None:
        last = inbox.find_newest_message(db, channel, chat)
        names, private = (
            {chat, last.sender_id} if last else names,
            last is not None and last.private,
        )
    if not private:
        return False
    paired = pairing.load_roles(db, channel, chat) if pairing_counts else {}
    return find_role(agents, channel, names, paired) == "operate"


def can_write_to_chat(
    agents: AgentsFile, memory: MemoryScope, db: Database, channel: str, chat_id: str
) -> bool:
    """Return whether a turn may send messages to a chat that has written to its agent."""
    target = f"{channel}:{chat_id}"
    if memory.joined or target == memory.chat:
        return True
    if not memory.shared:
        return False
    return (
        _is_bound(agents, channel, chat_id)
        or _is_notify_chat(agents, channel, chat_id)
        or is_operator_scope(agents, db, target)
    )


def _is_bound(agents: AgentsFile, channel: str, chat: str) -> bool:
    return chat in agents.list_bound_chats(channel)


def _is_notify_chat(agents: AgentsFile, channel: str, chat: str) -> bool:
    return any(
        (controls.notify_channel or "telegram", controls.notify_chat_id) == (channel, chat)
        for agent in agents.agents
        if (controls := agent.cost_controls) is not None
    )


def find_asked_chat(
    agents: AgentsFile, agent_id: str, db: Database, origin: Address
) -> Address | None:
    """Return the chat that is asked about a call of a chat: that one, or an operator's.

    None if no person may decide in either, as far as is known: in a group, those who wrote to the
    agent. Chats of this machine and of clients are asked themselves.
    """
    platforms, paired = agents.channels.list_chat_channels(), pairing.load_roles(db)
    here = origin.channel
    if here not in platforms:
        return origin
    writers = inbox.list_senders(db, agent_id, here, origin.chat_id)
    if origin.private:
        roles = [find_role(agents, here, {origin.chat_id, *writers}, paired)]
    else:
        people = [{writer} for writer in writers if writer != origin.chat_id]
        roles = [find_role(agents, here, person, paired) for person in people]
        roles.append(find_written_role(agents, here, {origin.chat_id}))
    if any(covers_role(role, "approve") for role in roles):
        return origin
    agent = agents.find_agent(agent_id)
    controls = None if agent is None else agent.cost_controls
    alerted = controls and (controls.notify_channel or "", controls.notify_chat_id or "")
    named = [*paired, *((item.channel, item.chat_id) for item in agents.bindings)]
    for name, settings in platforms.items():
        named += [(name, person) for person in (*settings.allowlist, *settings.roles)]
    for channel, person in sorted(
        dict.fromkeys(named), key=lambda one: (one != alerted, one[0] != here)
    ):
        if find_role(agents, channel, {person}, paired) == "operate":
            found = inbox.find_private_address(db, channel, person)
            if found is not None:
                return found
    return None
