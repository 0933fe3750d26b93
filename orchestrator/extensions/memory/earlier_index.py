"""The index of messages that an earlier version left, which answers while they are indexed anew.

Where: what does a search find right after an upgrade?
"""

from collections.abc import Sequence

from orchestrator.journal.db.database import Database
from orchestrator.journal.db.dialect import Index, get_dialect, has_earlier_index
from orchestrator.journal.memory import fulltext
from orchestrator.journal.memory.memory_scope import MemoryScope

MAX_SCANNED = 2000  # messages that are searched for words of two characters
UNPLACED = (
    "session_id IN (SELECT id FROM session WHERE {visible})"
    " AND NOT EXISTS(SELECT 1 FROM message_place WHERE message_id = {table}.id)"
)


def search_earlier_index(db: Database, memory: MemoryScope, query: str, limit: int) -> list[int]:
    """Return the messages that match best among those without a place, best first.

    Empty without an index of an earlier version.
    """
    if not has_earlier_index(db):
        return []
    visible, values = memory.build_row_condition()

    def match(index: Index, terms: Sequence[str]) -> fulltext.Scores:
        where = UNPLACED.format(visible=visible, table="message")
        return get_dialect(db).rank_rows(db, "message", index, terms, where, values, limit)

    def scan(terms: Sequence[str]) -> fulltext.Scores:
        where = UNPLACED.format(visible=visible, table="said")
        count = " + ".join(["iif(instr(text, ?) > 0, 1, 0)"] * len(terms))
        sql = (
            f"SELECT id, hits FROM (SELECT id, {count} AS hits FROM (SELECT id, text FROM said"
            f" WHERE {where} ORDER BY id DESC LIMIT ?) AS newest) AS counted WHERE hits > 0"
            " ORDER BY hits DESC, id DESC LIMIT ?"
        )
        return dict(db.execute(sql, (*terms, *values, MAX_SCANNED, limit)))

    return [number for number, _ in fulltext.search_index(query, limit, match, scan)[:limit]]
