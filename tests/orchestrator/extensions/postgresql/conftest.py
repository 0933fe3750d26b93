"""A journal in PostgreSQL, without rows."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from fakes.postgresql import database_of

from orchestrator.extensions.postgresql.pg_storage import PostgresStorage
from orchestrator.journal.db.store import Store
from orchestrator.journal_address import DatabaseServer


@pytest.fixture
def server(tmp_path: Path) -> DatabaseServer:
    """Its place; the home that it belongs to is the test's folder."""
    return DatabaseServer(database_of(tmp_path), tmp_path / "journal.db")


@pytest.fixture
def store(server: DatabaseServer) -> Iterator[Store]:
    """That journal, open."""
    with closing(Store(PostgresStorage(server), retry=0.01)) as opened:
        yield opened
