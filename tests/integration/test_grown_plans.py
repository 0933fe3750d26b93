"""How the server finds rows among very many."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from fakes.grown_server import ExplainedConnection, fill_journal
from fakes.journal import job
from fakes.lived import Life
from fakes.postgresql import database_of, needs_server

from orchestrator.extensions.upkeep import retention
from orchestrator.journal.inspect import recent_turns
from orchestrator.journal.turns import turns

pytestmark = [needs_server, pytest.mark.thorough(part="postgresql")]
MESSAGES = 100_000
REMOVALS = (  # the server finds messages of ended conversations by reading all, once a day
    *(retention.delete_old_turns, retention.delete_old_trials, retention.delete_loose_messages),
    *(retention.delete_old_pictures, retention.delete_old_calls),
    retention.delete_unused_conversations,
)


@pytest.fixture
def grown(tmp_path: Path) -> Iterator[ExplainedConnection]:
    """A session of a journal with many messages."""
    url = database_of(tmp_path)
    fill_journal(url, MESSAGES)
    with closing(ExplainedConnection(url)) as db:
        yield db


def test_nothing_reads_a_whole_table_of_many_messages(grown: ExplainedConnection) -> None:
    """Not a start, nor messages of every kind, the newest turns, or what removes old rows."""
    with job(grown):
        turns.boot(grown, 5)
    for number in range(3):
        Life(grown, f"a{number}", str(number), f"n{number}").live()
    recent_turns.list_recent_turns(grown, 5)
    recent_turns.count_messages_by_state(grown)
    for remove in REMOVALS:
        with job(grown):
            remove(grown, 1, 5)
    assert grown.list_scans() == []
    grown.execute("SELECT id FROM inbox WHERE text = ?", ("boat",))  # what no index has is seen
    assert len(grown.list_scans()) == 1
