"""What model calls used over time, by whom and what for."""

from dataclasses import dataclass

from orchestrator.journal.db.database import Database
from orchestrator.journal.db.row_times import first_since
from orchestrator.journal.db.rows import Rows

LATE = 3_600_000  # milliseconds that a call may take: its time is that of its end


@dataclass(frozen=True)
class SlotSpent:
    """The calls of one kind in a span of time; ``at`` is that of the first (milliseconds).

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
    "min(at), agent_id, model, ifnull(purpose, 'turn'), count(*), sum(prompt),"
    " sum(cached), sum(completion), ifnull(sum(usd), 0.0),"
    " count(*) FILTER (WHERE usd IS NULL), count(*) FILTER (WHERE state = 'lost')",
)


def find(db: Database, since: int, until: int) -> list[SlotSpent]:
    """Return what was used between two instants, by agent, model and purpose."""
    first = first_since(db, "model_call", "at", since - LATE)
    after = first_since(db, "model_call", "at", until + LATE)
    where = "id >= ? AND id < ? AND at >= ? AND at < ? GROUP BY 2, 3, 4 ORDER BY 1"
    return SLOTS.select(db, where, first, after, since, until)
