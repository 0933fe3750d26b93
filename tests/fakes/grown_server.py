"""A journal in PostgreSQL with many messages, and how the server plans statements on it.

Unlike SQLite, the server looks at the sizes of tables, and at how often their values occur.
"""

import random
import re
from collections.abc import Iterable
from typing import Any

import psycopg
from fakes.statement_plans import ALLOWED, CHECKED, GROWING
from grownjournal import FILLED, TurnCopier, read_template

from orchestrator.extensions.postgresql.pg_connection import PostgresConnection, PostgresCursor
from orchestrator.extensions.postgresql.statements import translate_statement
from orchestrator.journal.db.database import Values
from orchestrator.journal.turns import inbox, sessions

CHATS = 100
HOUR = 3_600_000
SCAN = re.compile(rf"Seq Scan on (?:{GROWING})\b")
TYPES = {bool: "bigint", int: "bigint", float: "double precision", bytes: "bytea"}


class ExplainedConnection(PostgresConnection):
    """Keeps each statement with the types of its values, to explain it later."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._seen: dict[str, tuple[str, tuple[str, ...]]] = {}

    def execute(self, statement: str, values: Values = (), /) -> PostgresCursor:
        self._note(statement, values)
        return super().execute(statement, values)

    def executemany(self, statement: str, rows: Iterable[Values], /) -> PostgresCursor:
        kept = list(rows)
        if kept:
            self._note(statement, kept[0])
        return super().executemany(statement, kept)

    def list_scans(self) -> list[str]:
        """Return the statements so far of which the server's plan reads a whole growing table."""
        super().execute("SET plan_cache_mode = force_generic_plan")  # as the daemon's writer
        return [
            f"{scan}: {' '.join(statement.split())}"
            for statement, (text, types) in self._seen.items()
            if not any(part in " ".join(statement.split()) for part in ALLOWED)
            for scan in SCAN.findall(self._explain(text, types))
        ]

    def _note(self, statement: str, values: Values) -> None:
        if statement.lstrip().upper().startswith(CHECKED):
            found = translate_statement(statement)
            bound = found.bind_values(values) if found.order else ()
            types = tuple(TYPES.get(type(value), "unknown") for value in bound)
            self._seen.setdefault(statement, (found.text, types))

    def _explain(self, text: str, types: tuple[str, ...]) -> str:
        given = f"({', '.join(types)})" if types else ""
        super().execute(f"PREPARE explained{given} AS {text}")
        nothing = f"({', '.join(['NULL'] * len(types))})" if types else ""
        rows = super().execute(f"EXPLAIN EXECUTE explained{nothing}").fetchall()
        super().execute("DEALLOCATE explained")
        return "\n".join(str(row[0]) for row in rows)


def fill_journal(url: str, messages: int) -> None:
    """Store the rows of so many messages of the agent `grown`, and let the server count them."""
    copier = TurnCopier(read_template(), random.Random(messages))  # noqa: S311 - always the same
    columns = {table: list(rows[0]) for table, rows in read_template().items()}
    db = PostgresConnection(url)
    opened = []
    for number in range(CHATS):
        key = inbox.build_chat_key("console", "local", f"chat-{number}", None)
        opened.append(sessions.open_session(db, "grown", key, 1))
    db.close()
    for number in range(messages // 2):
        chat = number % CHATS
        copier.copy_turn(number + 1, f"chat-{chat}", "grown", opened[chat], HOUR + number * 10_000)
    with psycopg.connect(url, autocommit=True) as session:
        session.execute("SET session_replication_role = replica")  # neither triggers nor references
        for table in FILLED:
            _copy_rows(session, table, columns[table], copier.rows[table])
        session.execute("INSERT INTO message_place SELECT id, id, '' FROM message")  # indexed
        session.execute("ANALYZE")


def _copy_rows(
    session: "psycopg.Connection[Any]", table: str, columns: list[str], rows: list[tuple[Any, ...]]
) -> None:
    names = ", ".join(f'"{name}"' for name in columns)
    with session.cursor().copy(f"COPY {table}({names}) FROM STDIN".encode()) as copy:
        for row in rows:
            copy.write_row(row)
    if "id" in columns and isinstance(rows[0][columns.index("id")], int):
        session.execute(
            f"SELECT setval(pg_get_serial_sequence('{table}', 'id'),"  # noqa: S608 - the names are fixed
            f" (SELECT max(id) FROM {table}))".encode()
        )
