"""Messages that wait for a turn, while another node may open one for them (T2)."""

from orchestrator.journal.db.database import Database


def lock_waiting_messages(db: Database, where: str, *values: object) -> frozenset[int]:
    """Lock the waiting messages that match a condition until the transaction ends.

    Return their ids. What is read of them before may be old: another node may have claimed or
    changed one meanwhile. In a file, which has one writer, this changes nothing.
    """
    sql = f"UPDATE inbox SET text = text WHERE {where} AND state = 'new' RETURNING id"
    return frozenset([int(row_id) for (row_id,) in db.execute(sql, values)])
