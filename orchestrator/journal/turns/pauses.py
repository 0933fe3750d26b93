"""Pauses of agents, at most one at a time for each."""

from dataclasses import dataclass

import apsw

from orchestrator.journal.db import audit
from orchestrator.journal.db.rows import Rows
from orchestrator.journal.turns import inbox, outbox, sessions, usage
from orchestrator.journal.turns.outbox import Address


@dataclass(frozen=True)
class Pause:
    """A pause of an agent, which takes no messages until its end; ``at`` in milliseconds.

    ``kind`` is ``operator``, ``anomaly`` (unusual spending), ``budget``, or ``account`` (the
    provider refuses the agent's key or has no credit for it).
    """

    id: int
    agent_id: str
    kind: str
    reason: str
    at: int


PAUSES = Rows(Pause, "pause")


def find(db: apsw.Connection, agent_id: str) -> Pause | None:
    return PAUSES.first(db, "agent_id = ? AND ended_at IS NULL", agent_id)


def every(db: apsw.Connection) -> list[Pause]:
    return PAUSES.select(db, "ended_at IS NULL ORDER BY agent_id")


def begin(
    db: apsw.Connection, agent_id: str, kind: str, reason: str, by: str, now: int
) -> Pause | None:
    db.execute(
        "INSERT OR IGNORE INTO pause(agent_id, kind, reason, at) VALUES(?,?,?,?)",
        (agent_id, kind, reason, now),
    )
    if not db.changes():
        return None
    audit.record(db, by, f"paused: {reason}", f"agent {agent_id}", now)
    return find(db, agent_id)


def end(db: apsw.Connection, agent_id: str, by: str, now: int) -> bool:
    """End the pause of an agent and reset its anomaly detector; False if it is not paused."""
    db.execute(
        "UPDATE pause SET ended_at = ?, mark = ? WHERE agent_id = ? AND ended_at IS NULL",
        (now, usage.newest(db), agent_id),
    )
    if not db.changes():
        return False
    audit.record(db, by, "resumed", f"agent {agent_id}", now)
    return True


def tell(db: apsw.Connection, pause: Pause, address: Address, text: str, now: int) -> None:
    """Send the notice of a pause to a chat, once."""
    db.execute("INSERT OR IGNORE INTO pause_told VALUES(?,?)", (pause.id, address.chat_key))
    if db.changes():
        outbox.add_notice(db, address, text, now)


def address(db: apsw.Connection, agent_id: str, channel: str, chat_id: str) -> Address | None:
    """Return the address of any chat; None if its channel has received no message yet."""
    known = sessions.address(db, agent_id, channel, chat_id)
    bot_id = inbox.bot_of(db, channel)
    if known is not None or bot_id is None:
        return known
    return Address(channel, bot_id, chat_id, private=not chat_id.startswith("-"))
