"""Full-text search in the messages of an agent's sessions."""

from dataclasses import dataclass
from functools import partial

from orchestrator.journal.db.database import Database, is_postgresql
from orchestrator.journal.db.rows import Rows
from orchestrator.journal.memory import fulltext
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.journal.postgresql import ranking
from thinker.protocol.messages import Origin

NEWEST = 2000  # messages that are searched for words of two characters


@dataclass(frozen=True)
class MessageHit:
    """A message of a user or of the agent (``assistant``); ``at`` in milliseconds."""

    id: int
    at: int
    role: str
    text: str
    chat_key: str
    origin: Origin = "user"
    turn_id: str | None = None


HITS = Rows(
    MessageHit,
    "said JOIN session ON session.id = session_id",
    "said.id, at, role, text, chat_key, ifnull("
    "(SELECT body ->> 'origin' FROM message WHERE message.id = said.id), 'user'),"
    " (SELECT turn_id FROM message WHERE message.id = said.id)",
)
# As SQLite's trigger `message_said` does.
UNINDEXED = (
    "SELECT id, text FROM said WHERE id > (SELECT ifnull(max(id), 0) FROM message_words_docsize)"
)
INDEX_REST = (
    f"INSERT INTO message_grams(rowid, text) {UNINDEXED} AND octet_length(text) <> length(text)",
    f"INSERT INTO message_words(rowid, text) {UNINDEXED}",
)


def search(db: Database, scope: MemoryScope, query: str, limit: int) -> list[MessageHit]:
    """Return the messages of an agent's chats that match a query best, best first.

    Those that no index has yet are indexed first (PostgreSQL indexes each at once).
    """
    if not is_postgresql(db):
        for statement in INDEX_REST:
            db.execute(statement)
    pool = fulltext.POOL * limit
    ranked = fulltext.search(
        query, limit, partial(_match, db, scope, pool), partial(_scan, db, scope, pool)
    )
    return [hit for number, _ in ranked[:limit] for hit in HITS.select(db, "said.id = ?", number)]


def _match(
    db: Database, scope: MemoryScope, limit: int, index: ranking.Index, terms: list[str]
) -> fulltext.Scores:
    table, (where, values) = f"message_{index}", scope.rows("session")
    if is_postgresql(db):
        return ranking.scores(db, ranking.MESSAGES, index, terms, where, values, limit)
    sql = (
        f"SELECT message.id, -bm25({table}) FROM {table} JOIN message ON message.id = {table}.rowid"
        " JOIN session ON session.id = message.session_id"
        f" WHERE {table} MATCH ? AND {where} ORDER BY bm25({table}), message.id DESC LIMIT ?"
    )
    return dict(db.execute(sql, (fulltext.any_of(terms), *values, limit)))


def _scan(db: Database, scope: MemoryScope, limit: int, terms: list[str]) -> fulltext.Scores:
    """Return the newest messages that contain one of the terms, and how many they contain."""
    count = " + ".join(["iif(instr(text, ?) > 0, 1, 0)"] * len(terms))
    where, values = scope.rows("session")
    sql = (
        f"SELECT id, hits FROM (SELECT id, {count} AS hits FROM (SELECT said.id, text FROM said"
        f" JOIN session ON session.id = session_id WHERE {where} ORDER BY said.id DESC LIMIT ?)"
        " AS newest) AS counted WHERE hits > 0 ORDER BY hits DESC, id DESC LIMIT ?"
    )
    return dict(db.execute(sql, (*terms, *values, NEWEST, limit)))
