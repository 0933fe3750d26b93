"""Full-text search in PostgreSQL, ranked like SQLite's BM25.

PostgreSQL's own ranking does not know how rare a word is, and "what is the" would outweigh "tea".
The indexes are of `words_in` and `letters_in`, see ``postgresql.sql``.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Literal

from orchestrator.journal.db.database import Database
from orchestrator.journal.db.dialect import DECIDING, EARLIER, Index, has_earlier_index

SEPARATOR = " "  # which no term contains
# For each term its newest rows, so that rows with a common term do not crowd out rows with a rare
# one. OFFSET, because the server would rather read all rows from the newest on than use the index.
MATCHING = """WITH newest AS MATERIALIZED (SELECT DISTINCT id
  FROM unnest(string_to_array(?, ' ')) AS wanted CROSS JOIN LATERAL (
    SELECT id FROM (SELECT id FROM {table} WHERE {match} AND {where} OFFSET 0) AS matching
    ORDER BY id DESC LIMIT {each}) AS newest_with_it),
hit AS MATERIALIZED (SELECT id, {found} AS said FROM {table} WHERE id IN (SELECT id FROM newest)),
"""
MATCH = {
    "words": "words_in({text}) @@ phraseto_tsquery('words', wanted)",
    "grams": r"""letters_in({text}) LIKE '%' || replace(wanted, '_', '\_') || '%'
      AND octet_length(letters_in({text})) <> length(letters_in({text}))""",
}
FOUND = {"words": "words_in({text})", "grams": "letters_in({text})"}
TEXTS = {"fact": "fact", "message": "said_in(body)"}  # that are indexed
# The terms in each row, and how often each occurs.
TERMS = {
    "words": """term_in_row AS (SELECT id, lexeme AS term, cardinality(positions) AS times,
  length(said) AS size FROM hit, unnest(said)
  WHERE lexeme IN (SELECT unnest(tsvector_to_array(words_in(?)))))""",
    "grams": """term_in_row AS (SELECT id, term, 1 AS times, length(said) AS size
  FROM hit, unnest(string_to_array(?, ' ')) AS term WHERE strpos(said, term) > 0)""",
}
# BM25 with the usual constants. A term is rare if few of the rows that match have it.
RANKED = """, total AS (SELECT CAST(count(*) AS DOUBLE PRECISION) AS hits,
  CAST(avg(length(said)) AS DOUBLE PRECISION) AS average FROM hit),
rarity AS (SELECT term, ln(1 + (max(hits) - count(*) + 0.5) / (count(*) + 0.5)) AS weight
  FROM term_in_row, total GROUP BY term)
SELECT id, sum(weight * times * 2.2 / (times + 0.3 + 0.9 * size / average)) AS score
FROM term_in_row JOIN rarity ON rarity.term = term_in_row.term CROSS JOIN total
GROUP BY id ORDER BY score DESC, id DESC LIMIT ?"""
# Of messages, as `Rows` takes it; the ids are found first for the same reason as above.
EVERY_WORD = """said.id IN (WITH wanted AS (
    SELECT string_agg(quote_literal(coalesce((ts_lexize('stems', term))[1], term)), ' & ') AS query
    FROM unnest(string_to_array(?, ' ')) AS term),
matching AS MATERIALIZED (SELECT message_id FROM message_place, wanted
  WHERE words @@ CAST(query AS tsquery)) SELECT message_id FROM matching UNION ALL
  SELECT id FROM said WHERE id > (SELECT coalesce(max(message_id), 0) FROM message_place)
  AND strpos(lower(text), ?) > 0{earlier}) ORDER BY said.id DESC LIMIT ?"""
EARLIER_MATCHES = """ UNION ALL SELECT id FROM (SELECT id FROM message, wanted
  WHERE words_in(said_in(body)) @@ CAST(query AS tsquery) OFFSET 0) AS earlier"""
STEMS = """SELECT term, coalesce((ts_lexize('stems', term))[1], term)
  FROM unnest(string_to_array(?, ' ')) AS term"""
PLACES = """WITH matching AS MATERIALIZED (SELECT place FROM message_place
  WHERE words @@ CAST(? AS tsquery))
  SELECT place FROM matching ORDER BY place DESC LIMIT ? OFFSET ?"""
PLACED = """INSERT INTO message_place SELECT ?, ?, array_to_tsvector(array_agg(DISTINCT
  coalesce((ts_lexize('stems', term))[1], term))) FROM unnest(string_to_array(?, ' ')) AS term"""
MAX_RANKED_ROWS = {"fact": 1000, "message": 300}  # rows to rank: each one's words are counted again
# Dropping an index waits for readers, such as a backup, and later readers wait for that.
READERS = """SELECT count(*) FROM pg_locks
  WHERE relation = CAST('message' AS regclass) AND pid <> pg_backend_pid()
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""

# A transaction that inserts has this lock before it gets an id, and until its rows can be seen.
WRITERS = """SELECT virtualtransaction FROM pg_locks WHERE mode = 'RowExclusiveLock'
  AND relation = CAST('{table}' AS regclass) AND pid <> pg_backend_pid()
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
LOOKS = 300  # as long as a daemon that froze in a transaction keeps its session
PAUSE = "SELECT pg_sleep(0.01)"


class PostgresqlDialect:
    """PostgreSQL, which indexes each text immediately."""

    def rank_rows(
        self,
        db: Database,
        table: Literal["fact", "message"],
        index: Index,
        terms: Sequence[str],
        where: str,
        values: Sequence[object],
        limit: int,
    ) -> dict[int, float]:
        text = TEXTS[table]
        statement = MATCHING.format(
            table=table,
            match=MATCH[index].format(text=text),
            found=FOUND[index].format(text=text),
            where=where,
            each=max(limit, MAX_RANKED_ROWS[table] // len(terms)),
        )
        wanted = SEPARATOR.join(terms)
        return dict(db.execute(statement + TERMS[index] + RANKED, (wanted, *values, wanted, limit)))

    def drop_earlier_index(self, db: Database) -> None:
        if not db.execute(READERS).get:
            db.execute("DROP INDEX IF EXISTS message_words, message_grams")
            db.execute("DELETE FROM meta WHERE k = ?", (EARLIER,))

    def build_every_word_condition(
        self, db: Database, terms: Sequence[str], text: str, limit: int
    ) -> tuple[str, tuple[object, ...]]:
        where = EVERY_WORD.format(earlier=EARLIER_MATCHES if has_earlier_index(db) else "")
        return where, (SEPARATOR.join(terms), text.lower(), limit)

    def place_messages(self, db: Database, rows: Sequence[tuple[int, int, str]]) -> None:
        db.executemany(PLACED, rows)

    def list_places(
        self, db: Database, wanted: Sequence[Sequence[str]], limit: int, skipped: int = 0
    ) -> list[int]:
        query = _build_query(db, wanted)
        return [place for (place,) in db.execute(PLACES, (query, limit, skipped))]

    def count_places(self, db: Database, wanted: Sequence[Sequence[str]], since: int = 0) -> int:
        sql = "SELECT count(*) FROM message_place WHERE words @@ CAST(? AS tsquery) AND place >= ?"
        return int(db.execute(sql, (_build_query(db, wanted), since)).get)

    def skip_used_ids(self, db: Database, table: str) -> None:
        db.execute(
            f"SELECT setval(pg_get_serial_sequence('{table}', 'id'),"
            f" (SELECT coalesce(max(id), 0) + 1 FROM {table}), false)"
        )

    def find_settled_id(self, db: Database, table: str) -> int:
        """Wait for the transactions that may have a lower id than the newest row, and no others."""
        newest = int(db.execute(f"SELECT coalesce(max(id), 0) FROM {table}").get)
        writers = WRITERS.format(table=table)
        left = {name for (name,) in db.execute(writers)}
        for _ in range(LOOKS):
            if not left:
                return newest
            db.execute(PAUSE)
            left &= {name for (name,) in db.execute(writers)}
        return 0

    def wait_for_turn(self, db: Database, name: str) -> None:
        db.execute("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", (name,))

    def exclude_daemons(self, db: Database) -> None:
        self.wait_for_turn(db, DECIDING)  # first: who has its turn needs the tables
        db.execute("LOCK TABLE audit, inbox, outbox, turn IN ACCESS EXCLUSIVE MODE")

    def wipe_deleted_rows(self, db: Database, table: str = "") -> AbstractContextManager[None]:
        """Free deleted data with VACUUM, in tables and indexes."""
        del db, table
        return nullcontext()


def _build_query(db: Database, wanted: Sequence[Sequence[str]]) -> str:
    """Return a tsquery of the stems of terms."""
    terms = [term for group in wanted for term in group if not term.endswith("*")]
    stems = dict(db.execute(STEMS, (SEPARATOR.join(terms),)).fetchall())
    return " & ".join(
        f"({' | '.join(_quote_term(stems.get(term, term)) for term in group)})" for group in wanted
    )


def _quote_term(term: str) -> str:
    return f"'{term[:-1]}':*" if term.endswith("*") else f"'{term}'"
