"""Sums of what agents have used in a period."""

from dataclasses import dataclass

from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.turns.usage import AGENTS


@dataclass(frozen=True)
class UsageTotal:
    """The usage of an agent in a period, all of it or for one ``purpose``.

    ``unsettled`` are the tokens of reserved and lost calls, which may be billed; ``unpriced``
    counts the calls whose cost is missing in ``usd``.
    """

    agent_id: str
    calls: int
    prompt: int
    cached: int
    completion: int
    usd: float
    unpriced: int
    unsettled: int
    purpose: str | None = None


SUMS = (
    "agent_id, count(*) FILTER(WHERE state = 'settled'),"
    " coalesce(sum(prompt) FILTER(WHERE state = 'settled'), 0), sum(cached),"
    " coalesce(sum(completion) FILTER(WHERE state = 'settled'), 0), coalesce(sum(usd), 0.0),"
    " count(*) FILTER(WHERE usd IS NULL),"
    " coalesce(sum(prompt + completion) FILTER(WHERE state <> 'settled'), 0)"
)
TOTALS = Rows(UsageTotal, "model_call", SUMS)
BY_PURPOSE = Rows(UsageTotal, "model_call", f"{SUMS}, purpose")


def list_totals(
    db: Database, since: int, until: int, *, by_purpose: bool = False
) -> list[UsageTotal]:
    """Sum the usage of each agent with calls from ``since`` to before ``until`` (milliseconds)."""
    rows, group = (BY_PURPOSE, "agent_id, purpose") if by_purpose else (TOTALS, "agent_id")
    where = f"agent_id IN({AGENTS}) AND at >= ? AND at < ? GROUP BY {group} ORDER BY {group}"
    where += " NULLS FIRST"
    return rows.select(db, where, since, until)
