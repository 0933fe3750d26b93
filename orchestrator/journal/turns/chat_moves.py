"""Chats whose id has changed, such as a Telegram group that became a supergroup.

The journal keeps the first id, so that conversation, queue and open turns do not change. Updates
with the new id are renamed before they are stored, and the channel's adapter sends to the new id.
"""

from collections.abc import Mapping
from dataclasses import replace

from orchestrator.channel_api import InboundMessage
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import inbox, sessions

BEGINS = "substr(chat_key, 1, length(:new)) = :new"
RENAMED = ":old || substr(chat_key, length(:new) + 1)"
OPEN_TASK = "state IN('active','disabled')"
# The data of a chat; of data under both ids, that of the first id wins.
QUEUED = {
    "session": "true",
    "handoff": f"({RENAMED}, routed_id) NOT IN(SELECT chat_key, routed_id FROM handoff)",
    "subagent": "true",
}
SCOPED = {
    "session": "true",
    "search_scope": "true",
    "fact": "valid_to IS NOT NULL OR (agent_id, fact) NOT IN(SELECT agent_id, fact FROM fact"
    " WHERE scope = ?1 AND valid_to IS NULL)",
    "fact_gone": "(agent_id, digest) NOT IN(SELECT agent_id, digest FROM fact_gone"
    " WHERE scope = ?1)",
    "memory_card": "agent_id NOT IN(SELECT agent_id FROM memory_card WHERE scope = ?1)",
    "profile": "agent_id NOT IN(SELECT agent_id FROM profile WHERE scope = ?1)",
    "profile_change": "true",
    "playbook": "(agent_id, name) NOT IN(SELECT agent_id, name FROM playbook WHERE scope = ?1)",
    "task": f"(NOT {OPEN_TASK} OR (agent_id, source, name) NOT IN"
    f"(SELECT agent_id, source, name FROM task WHERE scope = ?1 AND {OPEN_TASK}))",
}


def load_chat_moves(db: Database, channel: str) -> dict[str, str]:
    """Return the first ids of a channel's moved chats, keyed by their new ids."""
    rows = db.execute("SELECT new_id, old_id FROM chat_move WHERE channel = ?", (channel,))
    return {str(new): str(old) for new, old in rows}


def load_all_moves(db: Database) -> dict[str, dict[str, str]]:
    """Return the first ids of moved chats, keyed by channel and new id."""
    found: dict[str, dict[str, str]] = {}
    for channel, new, old in db.execute("SELECT channel, new_id, old_id FROM chat_move"):
        found.setdefault(str(channel), {})[str(new)] = str(old)
    return found


def rename_moved_chat(message: InboundMessage, first: Mapping[str, str]) -> InboundMessage:
    """Rename the chat of an update to its first id; ``first`` maps new ids to first ones.

    The numbers of messages begin anew in a supergroup, so the new id becomes part of their names.
    """
    chat_id = first.get(message.chat_id)
    if chat_id is None:
        return message
    in_its_name = message.sender_id == message.chat_id
    return replace(
        message,
        chat_id=chat_id,
        message_id=f"{message.chat_id}:{message.message_id}",
        sender_id=chat_id if in_its_name else message.sender_id,
    )


def move_chat(db: Database, channel: str, bot_id: str, old_id: str, new_id: str, now: int) -> bool:
    """Store that a chat has a new id, and merge the new id's data; False if it is known.

    Waiting messages and conversations of the new id move to the chat. An open turn of the new id
    ends under it.
    """
    first = load_chat_moves(db, channel).get(old_id, old_id)
    if first == new_id:
        return False
    db.execute(
        "INSERT INTO chat_move VALUES(?,?,?,?) ON CONFLICT DO NOTHING",
        (channel, first, new_id, now),
    )
    if not db.changes():
        return False
    keys = {
        "old": inbox.build_chat_key(channel, bot_id, first, None),
        "new": inbox.build_chat_key(channel, bot_id, new_id, None),
    }
    db.execute(
        f"UPDATE inbox SET chat_key = {RENAMED}, chat_id = :first,"
        " message_id = iif(update_id IS NULL, message_id, chat_id || ':' || message_id)"
        f" WHERE state = 'new' AND {BEGINS}",
        {**keys, "first": first},
    )
    both = db.execute(  # an agent's open conversations under the new id and under the first one
        f"SELECT later.id, own.id FROM (SELECT id, agent_id, {RENAMED} AS key FROM session"
        f" WHERE ended_at IS NULL AND {BEGINS}) AS later JOIN session AS own"
        " ON own.agent_id = later.agent_id AND own.chat_key = key AND own.ended_at IS NULL",
        keys,
    )
    for later, own in list(both):
        sessions.merge_sessions(db, later, own, now)
    for table, free in QUEUED.items():
        db.execute(f"UPDATE {table} SET chat_key = {RENAMED} WHERE {BEGINS} AND {free}", keys)
    scopes = (f"{channel}:{first}", f"{channel}:{new_id}")
    for table, free in SCOPED.items():
        db.execute(f"UPDATE {table} SET scope = ?1 WHERE scope = ?2 AND ({free})", scopes)
    open_turns = "state IN('running','waiting')"
    db.execute(f"UPDATE turn SET scope = ? WHERE scope = ? AND {open_turns}", scopes)
    return True
