"""Pauses of agents, at most one at a time for each.

A refused key is retried automatically: the pause ends for a trial, and if that is refused, a new
pause continues the series. An answer of the model, or a person, ends the series. Chats get one
notice for all of it.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database, Rows
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


ACCOUNT = "account"
FIRST_TRIAL = 60_000  # milliseconds until a refused key is tried again; doubled by every trial
LAST_TRIAL = 3_600_000
HOLD = "pause_held {}"  # with the agent's id, in the table of single values
# The trials of the present refusal: a pause that a person or a limit ended is marked.
TRIALS = """SELECT id FROM pause WHERE agent_id = :agent AND kind = 'account' AND mark IS NULL
  AND id > (SELECT coalesce(max(id), 0) FROM pause WHERE agent_id = :agent AND mark IS NOT NULL)
  AND at > coalesce((SELECT at FROM model_call WHERE agent_id = :agent AND state = 'settled'
                     ORDER BY at DESC LIMIT 1), 0)"""
PAUSES = Rows(Pause, "pause")


def find_pause(db: Database, agent_id: str) -> Pause | None:
    return PAUSES.find_first(db, "agent_id = ? AND ended_at IS NULL", agent_id)


def find_hold(db: Database, agent_id: str) -> str | None:
    """Return why no request may end the agent's pause, and what to do; None if one may."""
    found = db.execute("SELECT v FROM meta WHERE k = ?", (HOLD.format(agent_id),)).get
    return None if found is None else str(found)


def list_pauses(db: Database) -> list[Pause]:
    return PAUSES.select(db, "ended_at IS NULL ORDER BY agent_id")


def begin_pause(
    db: Database, agent_id: str, kind: str, reason: str, by: str, now: int
) -> Pause | None:
    db.execute(
        "INSERT INTO pause(agent_id, kind, reason, at) VALUES(?,?,?,?) ON CONFLICT DO NOTHING",
        (agent_id, kind, reason, now),
    )
    if not db.changes():
        return None
    audit.record_decision(db, by, f"paused: {reason}", f"agent {agent_id}", now)
    return find_pause(db, agent_id)


def end_pause(db: Database, agent_id: str, by: str, now: int) -> bool:
    """End the pause of an agent and reset its anomaly detector; False if it is not paused."""
    db.execute(
        "UPDATE pause SET ended_at = ?, mark = ? WHERE agent_id = ? AND ended_at IS NULL",
        (now, usage.find_newest_call_id(db), agent_id),
    )
    if not db.changes():
        return False
    audit.record_decision(db, by, "resumed", f"agent {agent_id}", now)
    return True


def find_next_trial(db: Database, pause: Pause) -> int | None:
    """Return the time (milliseconds) at which a refused key is retried; None for other pauses."""
    if pause.kind != ACCOUNT:
        return None
    count = f"SELECT count(*) FROM ({TRIALS}) AS trials"
    trials = int(db.execute(count, {"agent": pause.agent_id}).get)
    return pause.at + min(LAST_TRIAL, FIRST_TRIAL << min(trials - 1, 10))


def describe_pauses(db: Database) -> dict[str, str]:
    """Return the reason for each pause and the time of an automatic retry, keyed by agent."""
    reasons = {}
    for pause in list_pauses(db):
        trial = find_next_trial(db, pause)
        reasons[pause.agent_id] = pause.reason
        if trial is not None:
            at = datetime.fromtimestamp(trial / 1000, UTC)
            reasons[pause.agent_id] += f"; next trial {at:%H:%M} UTC"
    return reasons


def end_pause_for_trial(db: Database, pause: Pause, now: int) -> None:
    """End a pause for a trial, without a notice."""
    db.execute("UPDATE pause SET ended_at = ? WHERE id = ? AND ended_at IS NULL", (now, pause.id))


def is_trial(db: Database, pause: Pause) -> bool:
    """Return whether a pause ends only after a successful trial call, so that people know of it."""
    names = {"agent": pause.agent_id, "pause": pause.id}
    earlier = f"SELECT 1 FROM ({TRIALS}) AS trials WHERE id < :pause LIMIT 1"
    return bool(db.execute(earlier, names).get)


def send_pause_notice(db: Database, pause: Pause, address: Address, text: str, now: int) -> None:
    """Send the notice of a pause to a chat once, however often its cause is retried."""
    names = {"agent": pause.agent_id, "chat": address.chat_key}
    told = f"SELECT 1 FROM pause_told WHERE chat_key = :chat AND pause_id IN({TRIALS})"
    if pause.kind == ACCOUNT and db.execute(f"{told} LIMIT 1", names).get is not None:
        return
    new = "INSERT INTO pause_told VALUES(?,?) ON CONFLICT DO NOTHING"
    db.execute(new, (pause.id, address.chat_key))
    if db.changes():
        outbox.add_notice(db, address, text, now)


def find_notice_address(db: Database, agent_id: str, channel: str, chat_id: str) -> Address | None:
    """Return the address of any chat; None if its channel has never received a message."""
    known = sessions.find_known_address(db, agent_id, channel, chat_id)
    bot_id = inbox.find_bot_id(db, channel)
    if known is not None or bot_id is None:
        return known
    return Address.for_unmet_chat(channel, bot_id, chat_id)
