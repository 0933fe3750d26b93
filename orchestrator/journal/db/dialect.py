"""What databases do differently: full-text search, and permanent deletion."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Literal, Protocol, TypeAlias

from orchestrator.journal.db.database import Database

Index: TypeAlias = Literal["words", "grams"]  # words by their stems, or any three characters


class Dialect(Protocol):
    """The statements that differ between databases."""

    def rank_facts(
        self,
        db: Database,
        index: Index,
        terms: Sequence[str],
        where: str,
        values: Sequence[object],
        limit: int,
    ) -> dict[int, float]:
        """Return the facts ``where`` one of the terms matches, with scores.

        Scores are BM25's; more is better. Terms are words, or (``grams``) characters that stand
        anywhere in a text.
        """

    def build_every_word_condition(
        self, terms: Sequence[str], text: str, limit: int
    ) -> tuple[str, tuple[object, ...]]:
        """Return a condition for the newest messages with all words of a text, and its values.

        It ends a query of the view ``said``.
        """

    def place_message(self, db: Database, message_id: int, place: int, terms: str) -> None:
        """Index a message under a place by its terms, which are separated by spaces."""

    def list_places(self, db: Database, wanted: Sequence[Sequence[str]], limit: int) -> list[int]:
        """Return the places with a term of each group, the latest first.

        A term that ends with ``*`` is the beginning of one.
        """

    def count_places(self, db: Database, wanted: Sequence[Sequence[str]]) -> int:
        """Return the number of places with a term of each group."""

    def wipe_deleted_rows(self, db: Database) -> AbstractContextManager[None]:
        """Leave no trace in the database of rows deleted by the block."""


def get_dialect(db: Database) -> Dialect:
    """Return a database's ``dialect``; connections of SQLite have none."""
    dialect: Dialect = getattr(db, "dialect", SQLITE)
    return dialect


class SqliteDialect:
    """SQLite: FTS5 indexes that triggers fill; see ``sqlite.sql``."""

    indexes = ("said_words", "fact_words", "fact_grams")

    def rank_facts(
        self,
        db: Database,
        index: Index,
        terms: Sequence[str],
        where: str,
        values: Sequence[object],
        limit: int,
    ) -> dict[int, float]:
        found = f"fact_{index}"
        sql = (
            f"SELECT id, -bm25({found}) FROM {found} JOIN fact ON id = {found}.rowid"
            f" WHERE {found} MATCH ? AND {where} ORDER BY bm25({found}), id DESC LIMIT ?"
        )
        return dict(db.execute(sql, (_join_terms(" OR ", terms), *values, limit)))

    def build_every_word_condition(
        self, terms: Sequence[str], text: str, limit: int
    ) -> tuple[str, tuple[object, ...]]:
        indexed = "SELECT rowid FROM said_words WHERE said_words MATCH ?1"
        last = "SELECT ifnull(max(message_id), 0) FROM message_place"
        where = (
            f"said.id IN (SELECT message_id FROM message_place WHERE place IN ({indexed}) UNION ALL"
            f" SELECT id FROM said WHERE id > ({last}) AND instr(lower(text), ?2) > 0)"
            " ORDER BY said.id DESC LIMIT ?3"
        )
        return where, (_join_terms(" AND ", terms), text.lower(), limit)

    def place_message(self, db: Database, message_id: int, place: int, terms: str) -> None:
        db.execute("INSERT INTO message_place VALUES(?,?)", (message_id, place))
        db.execute("INSERT INTO said_words(rowid, terms) VALUES(?,?)", (place, terms))

    def list_places(self, db: Database, wanted: Sequence[Sequence[str]], limit: int) -> list[int]:
        sql = "SELECT rowid FROM said_words WHERE said_words MATCH ? ORDER BY rowid DESC LIMIT ?"
        return [place for (place,) in db.execute(sql, (_join_groups(wanted), limit))]

    def count_places(self, db: Database, wanted: Sequence[Sequence[str]]) -> int:
        sql = "SELECT count(*) FROM said_words WHERE said_words MATCH ?"
        return int(db.execute(sql, (_join_groups(wanted),)).get)

    @contextmanager
    def wipe_deleted_rows(self, db: Database) -> Iterator[None]:
        db.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten in the file
        yield
        for index in self.indexes:
            db.execute(f"INSERT INTO {index}({index}) VALUES('optimize')")


SQLITE = SqliteDialect()


def _join_groups(wanted: Sequence[Sequence[str]]) -> str:
    return " AND ".join(f"({_join_terms(' OR ', terms)})" for terms in wanted)


def _join_terms(operator: str, terms: Iterable[str]) -> str:
    return operator.join(f'"{term}"' for term in terms).replace('*"', '" *')
