"""The newest turns."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import open_turn, opened, planned, receive, update

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


def test_messages_that_retention_has_removed_were_done(db: Database) -> None:
    """Nothing counts them all, however many there are."""
    for number in range(1, 4):
        receive(db, update(number, "hi", str(number)))
    assert recent_turns.count_messages_by_state(db)["new"] == 3
    db.execute("DELETE FROM transition WHERE kind = 'inbox'")
    db.execute("DELETE FROM inbox WHERE id < 3")
    counts = recent_turns.count_messages_by_state(db)
    assert (counts["new"], counts["done"]) == (1, 2)
