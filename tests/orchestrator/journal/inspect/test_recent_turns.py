"""The newest turns."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import open_turn, opened, planned

from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import recent_turns
from orchestrator.journal.turns import turns
from orchestrator.journal.turns.outbox import OutboxPart


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A new journal."""
    with opened(tmp_path) as database:
        yield database


def test_recent_turns_come_newest_first_with_their_tools(db: Database) -> None:
    """As the status shows them."""
    first = open_turn(db, "t1")
    planned(db, "t1", "read")
    turns.end_with_reply(db, first, [OutboxPart("hi")], "direct", ("done", None), 40)
    open_turn(db, "t2")
    glances = recent_turns.list_recent_turns(db, 5)
    assert [(item.id, item.state, item.tools, item.ms) for item in glances] == [
        ("t2", "running", (), None),
        ("t1", "replied", ("read",), 40),
    ]
    assert [item.id for item in recent_turns.list_recent_turns(db, 1)] == ["t2"]
