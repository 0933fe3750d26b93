"""Sum what a chat has spent, and count the calls whose price is not known."""

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns.usage import Amount

LONGEST = 7 * 86_400_000  # milliseconds that a turn may wait for answers before it goes on


def sum_chat_spending(db: Database, chat_key: str, since: int) -> tuple[Amount, bool]:
    """Sum the calls of a chat's turns since a time, and return whether a price was missing."""
    (row,) = db.execute(
        "SELECT coalesce(sum(prompt + completion), 0), coalesce(sum(usd), 0.0),"
        " count(*) - count(usd) FROM session CROSS JOIN turn CROSS JOIN model_call"
        " WHERE session.chat_key = ? AND turn.session_id = session.id AND turn.started_at >= ?"
        " AND turn_id = turn.id AND at >= ?",
        (chat_key, since - LONGEST, since),
    )
    return Amount(int(row[0]), float(row[1])), bool(row[2])


def count_unpriced_calls(db: Database, agent_id: str, since: int) -> dict[str, int]:
    """Count the calls without a known cost since ``since`` (milliseconds), keyed by model."""
    rows = db.execute(
        "SELECT model, count(*) FROM model_call WHERE agent_id = ? AND at >= ? AND usd IS NULL"
        " GROUP BY model ORDER BY model",
        (agent_id, since),
    )
    return {str(model): int(calls) for model, calls in rows}
