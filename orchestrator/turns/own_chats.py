"""Whether this node works for a message, where several nodes share a journal."""

from dataclasses import replace

from orchestrator import routing
from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import deferred_commands, inbox, owners, turns
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.journal.turns.turns import Turn
from orchestrator.placement import Share, name_turn_owner


def is_own_message(row: InboxRow, definition: AgentDefinition | None, share: Share | None) -> bool:
    """Return whether this node works for a message for an agent, or refuses it without one."""
    if definition is None or row.kind == inbox.SUBAGENT:
        return owners.is_owned(row.chat_key, share)
    return owners.is_owned(definition.agent_id, share)


def is_own_turn(turn: Turn, epoch: int, share: Share | None) -> bool:
    """Return whether this node runs an open turn; ``epoch`` is this node's.

    An agent of another node may have handed it over, with the epoch of that one.
    """
    if share is None:
        return turn.epoch == epoch
    return name_turn_owner(turn.agent_id, turn.chat_key) in share


def find_own_turn(
    db: Database, chat: str, epoch: int, share: Share | None, now: int
) -> Turn | None:
    """Return the chat's open turn if this node runs it, adopted from the node that had it.

    ``now`` is in milliseconds.
    """
    found = turns.find_open_turn(db, chat)
    if found is None or not is_own_turn(found, epoch, share):
        return None  # without others, a turn of another epoch belongs to another process
    if found.epoch == epoch:
        return found
    turns.adopt_turns(db, [found.id], epoch, now)
    return turns.load_turn(db, found.id)


def find_earlier_commands(
    db: Database, agent_id: str, chat: str, share: Share | None
) -> str | None:
    """Return the queue of a chat's commands for an agent that another node left to this one."""
    if share is None or not deferred_commands.is_waiting(db, agent_id, chat):
        return None
    return deferred_commands.build_queue(agent_id, chat)


def has_own_work(
    db: Database, chat: str, agents: AgentsFile, epoch: int, share: Share | None
) -> bool:
    """Return whether this node works for the next message of a chat, or for its turn.

    ``epoch`` is this node's.
    """
    if share is None:
        return True
    if chat.startswith(deferred_commands.QUEUE):
        return deferred_commands.find_agent(chat) in share
    row = inbox.find_next_message(db, chat)
    if row is None:
        turn = turns.find_open_turn(db, chat)
        return turn is not None and is_own_turn(turn, epoch, share)
    agent_id = routing.find_answering_agent(db, agents, row, chat)
    return is_own_message(row, None if agent_id is None else agents.find_agent(agent_id), share)


def load_claimed_message(db: Database, row: InboxRow, turn: Turn, share: Share | None) -> InboxRow:
    """Return a message as its turn has claimed it: another node may have changed its words."""
    if share is not None:
        return inbox.load_message(db, row.id)
    return replace(row, state="claimed", agent_id=turn.agent_id, turn_id=turn.id)
