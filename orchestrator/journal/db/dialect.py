"""What databases do differently: full-text search, and permanent deletion."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Literal, Protocol, TypeAlias

from orchestrator.journal.db.database import Database

Index: TypeAlias = Literal["words", "grams"]  # words by their stems, or any three characters
MERGED = 12  # pages of the index that are merged at a time; the default takes 20 ms now and then
MAX_MATCHES = 1000  # latest messages with all words that are put into order
DECIDING = "audit"  # the turn of what nodes decide in common; two of them could block each other
EARLIER = "earlier_index"  # in `meta` while messages are in the index of an earlier version


class Dialect(Protocol):
    """The statements that differ between databases."""

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
        """Return the rows ``where`` one of the terms matches, with scores.

        Scores are BM25's; more is better. Terms are words, or (``grams``) characters that stand
        anywhere in a text. Messages are looked up in the index of an earlier version.
        """

    def drop_earlier_index(self, db: Database) -> None:
        """Remove the index of messages of an earlier version, if no other process uses it."""

    def build_every_word_condition(
        self, db: Database, terms: Sequence[str], text: str, limit: int
    ) -> tuple[str, tuple[object, ...]]:
        """Return a condition for the newest messages with all words of a text, and its values.

        It ends a query of the view ``said``.
        """

    def place_messages(self, db: Database, rows: Sequence[tuple[int, int, str]]) -> None:
        """Index messages: the id, the place, and the terms, which are separated by spaces."""

    def list_places(
        self, db: Database, wanted: Sequence[Sequence[str]], limit: int, skipped: int = 0
    ) -> list[int]:
        """Return the places with a term of each group, the latest first, after the skipped ones.

        A term that ends with ``*`` is the beginning of one.
        """

    def count_places(self, db: Database, wanted: Sequence[Sequence[str]], since: int = 0) -> int:
        """Return the number of places with a term of each group, from the place ``since`` on."""

    def skip_used_ids(self, db: Database, table: str) -> None:
        """Give no new row of a table an id that a row stored with its id already has."""

    def find_settled_id(self, db: Database, table: str) -> int:
        """Return an id up to which a read that begins later finds all the rows of a table.

        Rows of several writers are not stored in the order of their ids. Return 0 if a writer takes
        too long.
        """

    def wait_for_turn(self, db: Database, name: str) -> None:
        """Wait until no other transaction has waited for its turn with this name and not ended."""

    def exclude_daemons(self, db: Database) -> None:
        """Let no other daemon use messages, turns, replies or the audit log before the end."""

    def wipe_deleted_rows(self, db: Database, table: str = "") -> AbstractContextManager[None]:
        """Leave no trace of what the block deletes, also in the text indexes (of one table)."""


def get_dialect(db: Database) -> Dialect:
    """Return a database's ``dialect``; connections of SQLite have none."""
    dialect: Dialect = getattr(db, "dialect", SQLITE)
    return dialect


def has_earlier_index(db: Database) -> bool:
    """Return whether messages may be only in the index of an earlier version."""
    return db.execute("SELECT 1 FROM meta WHERE k = ?", (EARLIER,)).get is not None


class SqliteDialect:
    """SQLite: FTS5 indexes that triggers fill; see ``sqlite.sql``."""

    indexes = ("said_words", "fact_words", "fact_grams")
    earlier = ("message_words", "message_grams")

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
        found = f"{table}_{index}"
        sql = (
            f"SELECT id, -bm25({found}) FROM {found} JOIN {table} ON id = {found}.rowid"
            f" WHERE {found} MATCH ? AND {where} ORDER BY bm25({found}), id DESC LIMIT ?"
        )
        return dict(db.execute(sql, (_join_terms(" OR ", terms), *values, limit)))

    def drop_earlier_index(self, db: Database) -> None:
        db.execute("DROP TRIGGER IF EXISTS message_gone")
        for index in self.earlier:
            db.execute(f"DROP TABLE IF EXISTS {index}")
        db.execute("DELETE FROM meta WHERE k = ?", (EARLIER,))

    def build_every_word_condition(
        self, db: Database, terms: Sequence[str], text: str, limit: int
    ) -> tuple[str, tuple[object, ...]]:
        indexed = (  # by their latest places, which are about in the order of the messages
            "SELECT rowid FROM (SELECT rowid FROM said_words WHERE said_words MATCH ?1"
            f" ORDER BY rowid DESC LIMIT {MAX_MATCHES})"
        )
        last = "SELECT ifnull(max(message_id), 0) FROM message_place"
        before = " UNION ALL SELECT rowid FROM message_words WHERE message_words MATCH ?1"
        where = (
            f"said.id IN (SELECT message_id FROM message_place WHERE place IN ({indexed})"
            f"{before if has_earlier_index(db) else ''} UNION ALL"
            f" SELECT id FROM said WHERE id > ({last}) AND instr(lower(text), ?2) > 0)"
            " ORDER BY said.id DESC LIMIT ?3"
        )
        return where, (_join_terms(" AND ", terms), text.lower(), limit)

    def place_messages(self, db: Database, rows: Sequence[tuple[int, int, str]]) -> None:
        db.executemany("INSERT INTO message_place VALUES(?,?)", [row[:2] for row in rows])
        words = "INSERT INTO said_words(rowid, terms) VALUES(?,?)"
        db.executemany(words, [row[1:] for row in rows])
        db.execute("INSERT INTO said_words(said_words, rank) VALUES('merge', ?)", (MERGED,))

    def list_places(
        self, db: Database, wanted: Sequence[Sequence[str]], limit: int, skipped: int = 0
    ) -> list[int]:
        sql = (
            "SELECT rowid FROM said_words WHERE said_words MATCH ?"
            " ORDER BY rowid DESC LIMIT ? OFFSET ?"
        )
        return [place for (place,) in db.execute(sql, (_join_groups(wanted), limit, skipped))]

    def count_places(self, db: Database, wanted: Sequence[Sequence[str]], since: int = 0) -> int:
        sql = "SELECT count(*) FROM said_words WHERE said_words MATCH ? AND rowid >= ?"
        return int(db.execute(sql, (_join_groups(wanted), since)).get)

    def skip_used_ids(self, db: Database, table: str) -> None:
        del db, table  # SQLite looks for the highest id by itself

    def find_settled_id(self, db: Database, table: str) -> int:
        return int(db.execute(f"SELECT ifnull(max(id), 0) FROM {table}").get)

    def wait_for_turn(self, db: Database, name: str) -> None:
        """Do nothing: a file has one writer."""

    def exclude_daemons(self, db: Database) -> None:
        """Do nothing: a file has one daemon."""

    @contextmanager
    def wipe_deleted_rows(self, db: Database, table: str = "") -> Iterator[None]:
        db.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten in the file
        yield
        for index in (*self.indexes, *(self.earlier if has_earlier_index(db) else ())):
            if index.startswith(table):
                db.execute(f"INSERT INTO {index}({index}) VALUES('optimize')")
        db.execute("PRAGMA secure_delete = FAST")  # as before: freed pages stay as they are


SQLITE = SqliteDialect()


def _join_groups(wanted: Sequence[Sequence[str]]) -> str:
    return " AND ".join(f"({_join_terms(' OR ', terms)})" for terms in wanted)


def _join_terms(operator: str, terms: Iterable[str]) -> str:
    return operator.join(f'"{term}"' for term in terms).replace('*"', '" *')
