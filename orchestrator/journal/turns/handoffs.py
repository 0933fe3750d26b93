"""Handoffs: an agent other than the routed one answers a chat.

The session and the open turn, with its steps, become the other agent's.
"""

from dataclasses import dataclass

from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.turns import usage

SENDING = 50_000  # milliseconds that a message may take, which the other agent's node waits for
SENT_LATER = (
    "UPDATE outbox SET not_before = ? WHERE turn_id = ? AND state IN('ph_sending','sending')"
)


@dataclass(frozen=True)
class Handoff:
    """A chat that is routed to one agent and answered by another."""

    chat_key: str
    routed_id: str
    agent_id: str


HANDOFFS = Rows(Handoff, "handoff")


def count_handoffs(db: Database, turn_id: str) -> int:
    return int(db.execute("SELECT sum(times) FROM handoff WHERE turn_id = ?", (turn_id,)).get or 0)


def hand_over_turn(db: Database, turn_id: str, agent_id: str, now: int) -> None:
    ((chat_key, before, session_id),) = db.execute(
        "SELECT chat_key, agent_id, session_id FROM turn WHERE id = ?", (turn_id,)
    )
    routed = db.execute(
        "SELECT routed_id FROM handoff WHERE chat_key = ? AND agent_id = ? ORDER BY at DESC",
        (chat_key, before),
    ).get
    db.execute(
        "INSERT INTO handoff VALUES(?,?,?,?,1,?) ON CONFLICT(chat_key, routed_id) DO UPDATE SET"
        " times = iif(handoff.turn_id = excluded.turn_id, handoff.times + 1, 1),"
        " agent_id = excluded.agent_id, turn_id = excluded.turn_id, at = excluded.at",
        (chat_key, before if routed is None else routed, agent_id, turn_id, now),
    )
    _give_session(db, session_id, agent_id, now)
    db.execute("UPDATE turn SET agent_id = ? WHERE id = ?", (agent_id, turn_id))
    db.execute("UPDATE inbox SET agent_id = ? WHERE turn_id = ?", (agent_id, turn_id))
    # The other agent's node sends it again only if nothing is heard of it.
    db.execute(SENT_LATER, (now + SENDING, turn_id))
    usage.release_reservation(db, turn_id)  # reserved for a model call of the previous agent


def take_back_chat(db: Database, chat_key: str, now: int) -> list[Handoff]:
    """End the handoffs of a chat, so that its routed agents answer it, with its sessions.

    Returns the handoffs that were ended.
    """
    found = list_handoffs_in_chat(db, chat_key)
    for handoff in found:
        session = db.execute(
            "SELECT id FROM session WHERE agent_id = ? AND chat_key = ? AND ended_at IS NULL",
            (handoff.agent_id, chat_key),
        ).get
        if session is not None:
            _give_session(db, int(session), handoff.routed_id, now)
    db.execute("DELETE FROM handoff WHERE chat_key = ?", (chat_key,))
    return found


def list_handoffs_in_chat(db: Database, chat_key: str) -> list[Handoff]:
    return HANDOFFS.select(db, "agent_id != routed_id AND chat_key = ? ORDER BY at", chat_key)


def list_handoffs(db: Database) -> list[Handoff]:
    return HANDOFFS.select(db, "agent_id != routed_id ORDER BY at")


def _give_session(db: Database, session_id: int, agent_id: str, now: int) -> None:
    """Give a session to another agent, ending that agent's own session of the chat."""
    db.execute(
        "UPDATE session SET ended_at = ?3 WHERE agent_id = ?2 AND ended_at IS NULL AND id != ?1"
        " AND chat_key = (SELECT chat_key FROM session WHERE id = ?1)",
        (session_id, agent_id, now),
    )
    db.execute("UPDATE session SET agent_id = ? WHERE id = ?", (agent_id, session_id))
