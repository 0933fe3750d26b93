"""What databases do differently: full-text search, and permanent deletion."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Literal, NamedTuple, Protocol, TypeAlias

from orchestrator.journal.db.database import Database

Index: TypeAlias = Literal["words", "grams"]  # words by their stems, or any three characters


class SearchedTable(NamedTuple):
    """A table with both indexes; ``joined`` is the join that conditions on its rows need.

    ``direction`` sorts rows that match equally well by their ids.
    """

    table: str
    joined: str
    direction: Literal["ASC", "DESC"]


FACTS = SearchedTable("fact", "", "DESC")
MESSAGES = SearchedTable("message", " JOIN session ON session.id = message.session_id", "DESC")


class Dialect(Protocol):
    """The statements that differ between databases."""

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
        """Return the rows ``where`` one of the terms matches, with scores.

        Scores are BM25's; more is better. Terms are words, or (``grams``) characters that stand
        anywhere in a text.
        """

    def build_every_word_condition(
        self, terms: Sequence[str], text: str, limit: int
    ) -> tuple[str, tuple[object, ...]]:
        """Return a condition for the newest messages with all words of a text, and its values.

        It ends a query of the view ``said``.
        """

    def index_messages(self, db: Database) -> None:
        """Index the messages that are not indexed yet."""

    def wipe_deleted_rows(self, db: Database) -> AbstractContextManager[None]:
        """Leave no trace in the database of rows deleted by the block."""


def get_dialect(db: Database) -> Dialect:
    """Return a database's ``dialect``; connections of SQLite have none."""
    dialect: Dialect = getattr(db, "dialect", SQLITE)
    return dialect


class SqliteDialect:
    """SQLite: FTS5 indexes that triggers fill; see ``sqlite.sql``."""

    unindexed = (
        "SELECT id, text FROM said"
        " WHERE id > (SELECT ifnull(max(id), 0) FROM message_words_docsize)"
    )
    indexes = ("message_words", "message_grams", "fact_words", "fact_grams")

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
        found = f"{table}_{index}"
        sql = (
            f"SELECT {table}.id, -bm25({found}) FROM {found} JOIN {table}"
            f" ON {table}.id = {found}.rowid{joined} WHERE {found} MATCH ? AND {where}"
            f" ORDER BY bm25({found}), {table}.id {direction} LIMIT ?"
        )
        return dict(db.execute(sql, (_join_terms(" OR ", terms), *values, limit)))

    def build_every_word_condition(
        self, terms: Sequence[str], text: str, limit: int
    ) -> tuple[str, tuple[object, ...]]:
        indexed = "SELECT rowid FROM message_words WHERE message_words MATCH ?1"
        rest = f"SELECT id FROM ({self.unindexed}) WHERE instr(lower(text), ?2) > 0"
        where = f"said.id IN ({indexed} UNION ALL {rest}) ORDER BY said.id DESC LIMIT ?3"
        return where, (_join_terms(" AND ", terms), text.lower(), limit)

    def index_messages(self, db: Database) -> None:
        """Do what the trigger `message_said` does, for a group that is not full."""
        db.execute(
            f"INSERT INTO message_grams(rowid, text) {self.unindexed}"
            " AND octet_length(text) <> length(text)"
        )
        db.execute(f"INSERT INTO message_words(rowid, text) {self.unindexed}")

    @contextmanager
    def wipe_deleted_rows(self, db: Database) -> Iterator[None]:
        db.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten in the file
        yield
        for index in self.indexes:
            db.execute(f"INSERT INTO {index}({index}) VALUES('optimize')")


SQLITE = SqliteDialect()


def _join_terms(operator: str, terms: Iterable[str]) -> str:
    return operator.join(f'"{term}"' for term in terms)
