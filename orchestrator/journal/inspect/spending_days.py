"""What model calls used over time, by whom and what for."""

from dataclasses import dataclass

import apsw

from orchestrator.journal.db.distinct import distinct
from orchestrator.journal.db.rows import Rows

SLOT = 1_800_000  # milliseconds: half an hour, of which every time zone's days are made
MOST = 93 * 86_400_000  # milliseconds that are looked at at once


@dataclass(frozen=True)
class SlotSpent:
    """The calls of half an hour that begins at ``at`` (milliseconds), of one kind.

    ``unpriced`` are those without a known price.
    """

    at: int
    agent_id: str
    model: str
    purpose: str
    calls: int
    prompt: int
    cached: int
    completion: int
    usd: float
    unpriced: int
    lost: int


SLOTS = Rows(
    SlotSpent,
    "model_call",
    f"at / {SLOT} * {SLOT}, agent_id, model, ifnull(purpose, 'turn'), count(*), sum(prompt),"
    " sum(cached), sum(completion), total(usd), sum(usd IS NULL), sum(state = 'lost')",
)


def find(db: apsw.Connection, since: int, until: int) -> list[SlotSpent]:
    """Return what was used between two instants, the oldest first."""
    since = max(since, until - MOST)
    where = "agent_id = ? AND at >= ? AND at < ? GROUP BY 1, 3, 4 ORDER BY 1"
    return [
        slot
        for (agent,) in db.execute(distinct("model_call", "agent_id", "true")).fetchall()
        for slot in SLOTS.select(db, where, agent, since, until)
    ]
