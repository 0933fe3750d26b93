"""Full-text search in PostgreSQL, ranked as SQLite's BM25 does.

PostgreSQL's own ranking does not know how rare a word is, and "what is the" would outweigh "tea".
The indexes are of `words_in` and `letters_in`, see the first change.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from orchestrator.journal.db.database import Database

Index: TypeAlias = Literal["words", "grams"]
SEPARATOR = " "  # which no term contains
# For each term its newest rows, so that rows with a common one do not crowd out those with a rare
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
# The terms in each row, and how often they are there.
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


class Indexed(NamedTuple):
    """A table and the indexed text of its rows; ``rows`` are it and what is joined to it.

    About ``most`` rows are ranked, as the words of each are split and counted again.
    ``direction`` sorts rows that match equally well by their ids.
    """

    table: str
    text: str
    rows: str
    direction: Literal["ASC", "DESC"]
    most: int


FACTS = Indexed("fact", "fact.fact", "fact", "ASC", 1000)
MESSAGES = Indexed(
    "message",
    "said_in(message.body)",
    "message JOIN session ON session.id = message.session_id",
    "DESC",
    300,
)


def scores(
    db: Database,
    indexed: Indexed,
    index: Index,
    terms: Sequence[str],
    where: str,
    values: Sequence[object],
    limit: int,
) -> dict[int, float]:
    """Return the rows ``where`` that have one of the terms, and how well they match.

    Terms are words, or (``grams``) characters that stand anywhere in a text.
    """
    statement = (MATCHING + TERMS[index] + RANKED).format(
        match=MATCH[index].format(text=indexed.text),
        found=FOUND[index].format(text=indexed.text),
        where=where,
        each=max(limit, indexed.most // len(terms)),
        **indexed._asdict(),
    )
    wanted = SEPARATOR.join(terms)
    return dict(db.execute(statement, (wanted, *values, wanted, limit)))
