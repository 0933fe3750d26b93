"""Databases for test journals, created on a server and dropped at the end."""

import os
import secrets
from contextlib import closing, suppress
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit, urlunsplit

from orchestrator.errors import ConfigError
from orchestrator.extensions.postgresql import pg_schema
from orchestrator.extensions.postgresql.pg_connection import (
    FAILED,
    PostgresConnection,
    extract_first_line,
)
from orchestrator.journal.db.database import Value, Values
from orchestrator.journal_address import DatabaseServer

OTHERS = "FROM pg_stat_activity WHERE datname = ? AND pid <> pg_backend_pid()"


class ScratchDatabases:
    """``with ScratchDatabases(url) as databases``: each is a copy of an empty journal.

    ``url`` is the address of a server and of any database there; its user may create databases.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._prefix = f"selftest_{os.getpid()}_{secrets.token_hex(4)}"

    def __enter__(self) -> Self:
        """Make the empty journal.

        Raises:
            ConfigError: the server cannot be reached, or refuses to create a database.
        """
        try:
            self._fetch_value(
                f"CREATE DATABASE \"{self._prefix}\" TEMPLATE template0 ENCODING 'UTF8'"
            )
            with closing(PostgresConnection(self._build_url(self._prefix))) as db:
                pg_schema.upgrade_schema(db, self._prefix)
        except FAILED as error:
            raise ConfigError(
                f"no database can be made there ({extract_first_line(error)})"
            ) from error
        return self

    def __exit__(self, *_: object) -> None:
        mine = "SELECT datname FROM pg_database WHERE starts_with(datname, ?)"
        for name in self._fetch_values(mine, (self._prefix,)):
            self._drop_database(name)

    def make_journal(self, home: Path) -> DatabaseServer:
        """Make the database of a home with a unique name."""
        name = f"{self._prefix}_{home.name}"
        self._fetch_value(f'CREATE DATABASE "{name}" TEMPLATE "{self._prefix}"')
        return DatabaseServer(self._build_url(name), home / "journal.db")

    def remove_journal(self, home: Path) -> None:
        self._drop_database(f"{self._prefix}_{home.name}")

    def list_sessions(self, home: Path) -> list[int]:
        """Return the process ids of the sessions of a home's database.

        A stopped server has none.
        """
        name = f"{self._prefix}_{home.name}"
        with suppress(*FAILED):
            return [int(pid) for pid in self._fetch_values(f"SELECT pid {OTHERS}", (name,))]
        return []

    def end_sessions(self, home: Path) -> int:
        """End all sessions of a home's database; return their number."""
        name = f"{self._prefix}_{home.name}"
        return int(self._fetch_value(f"SELECT count(pg_terminate_backend(pid)) {OTHERS}", (name,)))

    def _drop_database(self, name: str) -> None:
        self._fetch_value(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def _fetch_value(self, statement: str, values: Values = ()) -> Value:
        with closing(PostgresConnection(self._url)) as db:
            return db.execute(statement, values).get

    def _fetch_values(self, statement: str, values: Values) -> list[Value]:
        with closing(PostgresConnection(self._url)) as db:
            return [value for (value,) in db.execute(statement, values)]

    def _build_url(self, name: str) -> str:
        return urlunsplit(urlsplit(self._url)._replace(path=f"/{name}"))
