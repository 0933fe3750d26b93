"""A journal in PostgreSQL, without rows."""

from pathlib import Path

import pytest
from fakes.postgresql import database_of

from orchestrator.journal_address import DatabaseServer


@pytest.fixture
def server(tmp_path: Path) -> DatabaseServer:
    """Its place; the home that it belongs to is the test's folder."""
    return DatabaseServer(database_of(tmp_path), tmp_path / "journal.db")
