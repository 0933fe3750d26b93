"""Usage of model calls over time, by agent, model and purpose."""

from dataclasses import dataclass

from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.db.row_times import find_end_of_rows_before, find_first_row_since

LATE = 3_600_000  # milliseconds that a call may take: its time is that of its end


@dataclass(frozen=True)
class SpendingSlot:
    """The calls of one kind in a span of time; ``at`` is the time of the first, in milliseconds.

    ``unpriced`` counts the calls without a known price.
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
    SpendingSlot,
    "model_call",
    "min(at), agent_id, model, ifnull(purpose, 'turn'), count(*), sum(prompt),"
    " sum(cached), sum(completion), ifnull(sum(usd), 0.0),"
    " count(*) FILTER (WHERE usd IS NULL), count(*) FILTER (WHERE state = 'lost')",
)


def list_spending_slots(db: Database, since: int, until: int) -> list[SpendingSlot]:
    """Return the usage between two instants, by agent, model and purpose."""
    first = find_first_row_since(db, "model_call", since - LATE)
    after = find_end_of_rows_before(db, "model_call", until + LATE)
    where = "id >= ? AND id < ? AND at >= ? AND at < ? GROUP BY 2, 3, 4 ORDER BY 1"
    return SLOTS.select(db, where, first, after, since, until)
