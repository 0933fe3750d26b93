"""Full-text search in PostgreSQL, ranked like SQLite's BM25.

PostgreSQL's own ranking does not know how rare a word is, and "what is the" would outweigh "tea".
The indexes are of `words_in` and `letters_in`, see ``postgresql.sql``.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from orchestrator.journal.db.database import Database
from orchestrator.journal.db.dialect import Index, SearchedTable

SEPARATOR = " "  # which no term contains
# For each term its newest rows, so that rows with a common term do not crowd out rows with a rare
# one. OFFSET, because the server would rather read all rows from the newest on than use the index.
MATCHING = """WITH newest AS MATERIALIZED (SELECT DISTINCT id
  FROM unnest(string_to_array(?, ' ')) AS wanted CROSS JOIN LATERAL (
    SELECT id FROM (SELECT {table}.id FROM {rows} WHERE {match} AND {where} OFFSET 0) AS matching
    ORDER BY id DESC LIMIT {each}) AS newest_with_it),
hit AS MATERIALIZED (SELECT id, {found} AS said FROM {table} WHERE id IN (SELECT id FROM newest)),
"""
MATCH = {
    "words": "words_in({text}) @@ phraseto_tsquery('words', wanted)",
    "grams": r"""letters_in({text}) LIKE '%' || replace(wanted, '_', '\_') || '%'
      AND octet_length(letters_in({text})) <> length(letters_in({text}))""",
}
FOUND = {"words": "words_in({text})", "grams": "letters_in({text})"}
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
GROUP BY id ORDER BY score DESC, id {direction} LIMIT ?"""
# Of messages, as `Rows` takes it; the ids are found first for the same reason as above.
EVERY_WORD = """said.id IN (WITH matching AS MATERIALIZED (SELECT id FROM message
  WHERE words_in(said_in(body)) @@ plainto_tsquery('words', ?)) SELECT id FROM matching)
  ORDER BY said.id DESC LIMIT ?"""


TEXTS = {
    "fact": "fact.fact",
    "message": "said_in(message.body)",
}  # that are indexed, by their tables
MAX_RANKED_ROWS = {"fact": 1000, "message": 300}  # rows to rank: each one's words are counted again


class PostgresqlDialect:
    """PostgreSQL, which indexes each text immediately."""

    def rank_rows(
        self,
        db: Database,
        searched: SearchedTable,
        index: Index,
        terms: Sequence[str],
        where: str,
        values: Sequence[object],
        limit: int,
    ) -> dict[int, float]:
        table, joined, direction = searched
        statement = (MATCHING + TERMS[index] + RANKED).format(
            table=table,
            rows=f"{table}{joined}",
            match=MATCH[index].format(text=TEXTS[table]),
            found=FOUND[index].format(text=TEXTS[table]),
            where=where,
            each=max(limit, MAX_RANKED_ROWS[table] // len(terms)),
            direction=direction,
        )
        wanted = SEPARATOR.join(terms)
        return dict(db.execute(statement, (wanted, *values, wanted, limit)))

    def build_every_word_condition(
        self, terms: Sequence[str], text: str, limit: int
    ) -> tuple[str, tuple[object, ...]]:
        del text
        return EVERY_WORD, (SEPARATOR.join(terms), limit)

    def index_messages(self, db: Database) -> None:
        del db

    def wipe_deleted_rows(self, db: Database) -> AbstractContextManager[None]:
        """Free deleted data with VACUUM, in tables and indexes."""
        del db
        return nullcontext()
