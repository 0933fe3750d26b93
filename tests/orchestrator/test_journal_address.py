"""How the place of a journal is shown."""

from pathlib import Path

import pytest

from orchestrator.journal_address import DatabaseServer, find_journal_file

FILE = Path("/home/bots/journal.db")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:secret@db:5433/bots?sslmode=require", "postgresql://db:5433/bots"),
        ("postgresql://me:secret@a:1,b:2/bots?password=secret", "postgresql://a:1,b:2/bots"),
        ("postgres:///bots?host=/run", "postgresql:///bots"),
        ("postgresql://me:s%40cret@[::1]:5/bots", "postgresql://[::1]:5/bots"),
    ],
)
def test_address_is_shown_without_its_secrets(url: str, shown: str) -> None:
    """Also where a traceback prints the object."""
    server = DatabaseServer(url, FILE)
    assert str(server) == shown
    assert "cret" not in repr(server)
    assert find_journal_file(server) == FILE
