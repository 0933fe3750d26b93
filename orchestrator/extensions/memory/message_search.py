"""Full-text search in the messages of an agent's sessions."""

from functools import partial

from orchestrator.journal.db.database import Database
from orchestrator.journal.db.dialect import MESSAGES, Index, get_dialect
from orchestrator.journal.inspect.message_hits import HITS, MessageHit
from orchestrator.journal.memory import fulltext
from orchestrator.journal.memory.memory_scope import MemoryScope

MAX_SCANNED = 2000  # messages that are searched for words of two characters


def search_messages(db: Database, scope: MemoryScope, query: str, limit: int) -> list[MessageHit]:
    """Return the messages of an agent's chats that match a query best, best first.

    Unindexed messages are indexed first.
    """
    get_dialect(db).index_messages(db)
    pool = fulltext.POOL * limit
    ranked = fulltext.search_index(
        query,
        limit,
        partial(_match_messages, db, scope, pool),
        partial(_scan_messages, db, scope, pool),
    )
    return [hit for number, _ in ranked[:limit] for hit in HITS.select(db, "said.id = ?", number)]


def _match_messages(
    db: Database, scope: MemoryScope, limit: int, index: Index, terms: list[str]
) -> fulltext.Scores:
    where, values = scope.build_row_condition("session")
    return get_dialect(db).rank_rows(db, MESSAGES, index, terms, where, values, limit)


def _scan_messages(
    db: Database, scope: MemoryScope, limit: int, terms: list[str]
) -> fulltext.Scores:
    """Return the newest messages that contain a term, with the number of terms."""
    count = " + ".join(["iif(instr(text, ?) > 0, 1, 0)"] * len(terms))
    where, values = scope.build_row_condition("session")
    sql = (
        f"SELECT id, hits FROM (SELECT id, {count} AS hits FROM (SELECT said.id, text FROM said"
        f" JOIN session ON session.id = session_id WHERE {where} ORDER BY said.id DESC LIMIT ?)"
        " AS newest) AS counted WHERE hits > 0 ORDER BY hits DESC, id DESC LIMIT ?"
    )
    return dict(db.execute(sql, (*terms, *values, MAX_SCANNED, limit)))
