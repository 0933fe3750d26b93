"""The plans of statements, which every test of a journal checks."""

from collections.abc import Iterator
from contextlib import closing

import apsw
import pytest
from fakes.statement_plans import find_scan, open_journal

NEWEST_OF_CHAT = "SELECT * FROM inbox WHERE channel = ? AND chat_id = ? ORDER BY id DESC LIMIT 1"
UNFINISHED = "SELECT turn_id FROM outbox WHERE final = 0"


@pytest.fixture
def db() -> Iterator[apsw.Connection]:
    """An empty journal."""
    with closing(open_journal()) as opened:
        yield opened


@pytest.mark.parametrize(
    ("statement", "values", "index"),
    [
        (NEWEST_OF_CHAT, ("telegram", "7"), "inbox_of_chat"),
        ("SELECT id FROM inbox WHERE update_id IS NULL AND message_id = ?", ("1",), "inbox_local"),
        (UNFINISHED, (), "outbox_preview"),
        ("SELECT count(*) FROM inbox WHERE state = 'new'", (), "inbox_new"),
        ("SELECT id FROM turn WHERE substr(id, length(id) - 7) = ?", ("1",), "turn_name"),
        ("UPDATE turn SET epoch = 2 WHERE state IN('running','waiting')", (), "one_open_turn"),
    ],
)
def test_statement_without_its_index_reads_all(
    db: apsw.Connection, statement: str, values: tuple[str, ...], index: str
) -> None:
    """It finds its rows at once as long as the index is there."""
    assert find_scan(db, statement, values) is None
    db.execute(f"DROP INDEX {index}")
    assert find_scan(db, statement, values) is not None


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT count(*) FROM message",
        "SELECT count(*) FROM said",
        "SELECT own.id FROM inbox AS own WHERE own.text = 'a'",
        "DELETE FROM transition WHERE state = 'done'",
        "SELECT id FROM turn WHERE chat_key = 'a' ORDER BY id DESC LIMIT 1",
    ],
)
def test_reading_a_whole_table_is_found(db: apsw.Connection, statement: str) -> None:
    """Also behind a view, under another name, and where the first match would end it."""
    assert find_scan(db, statement) is not None


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT id FROM inbox WHERE agent_id = ? AND channel = ? AND chat_id = ? ORDER BY text",
        "SELECT DISTINCT sender_id FROM inbox WHERE agent_id = ? AND channel = ? AND chat_id = ?",
        "SELECT turn_id, max(id) FROM message WHERE session_id = ? GROUP BY turn_id",
        "SELECT own.id FROM turn AS own WHERE session_id = ? ORDER BY ended_at DESC LIMIT 1",
    ],
)
def test_sorting_of_what_becomes_more_is_found(db: apsw.Connection, statement: str) -> None:
    """All messages of a chat or of a conversation, also to find the first or the different ones."""
    assert "sorted" in (find_scan(db, statement, ("a",) * statement.count("?")) or "")


@pytest.mark.parametrize(
    "statement",
    [
        NEWEST_OF_CHAT,
        "SELECT name FROM step WHERE turn_id = ? ORDER BY t_plan",
        "SELECT body FROM message WHERE session_id = ? ORDER BY id DESC LIMIT 50",
        "SELECT id FROM model_call WHERE agent_id = ? ORDER BY at DESC, id DESC LIMIT 1",
        "SELECT id FROM inbox WHERE state = 'new' AND chat_key = ? ORDER BY text",
        "SELECT count(*) FROM (SELECT id FROM turn ORDER BY id DESC LIMIT 50) AS newest",
        "SELECT max(id) FROM inbox",
        "SELECT name FROM step WHERE turn_id = ?",
        "SELECT id FROM session WHERE chat_key = ?",
    ],
)
def test_short_way_to_the_rows_is_let_through(db: apsw.Connection, statement: str) -> None:
    """By an index, from the newest row on, or in a table that messages do not lengthen."""
    assert find_scan(db, statement, ("a",) * statement.count("?")) is None
