"""Numbers of messages: the one before a row, and those at which its message may stand."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from fakes.journal import open_turn, opened, sqlite
from fakes.postgresql import POSTGRESQL

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import message_numbers, outbox
from orchestrator.journal.turns.outbox import Address, OutboxPart

HERE = Address("telegram", "1", "7")
THERE = Address("telegram", "1", "8")
GROUP = Address("telegram", "1", "-5", private=False)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal with the open turn t1."""
    with opened(tmp_path) as connection:
        open_turn(connection)
        yield connection


def test_number_before_a_row_is_that_of_the_newest_message_before(db: Database) -> None:
    """What the chat wrote, or was sent; names of messages of a moved chat are no numbers."""
    outbox.add_reply(db, "t1", HERE, [OutboxPart("a")], "direct", 1)
    outbox.add_extra(db, None, HERE, [OutboxPart("b"), OutboxPart("c")], "direct", 1)
    rows = outbox.OUTBOX.select(db, "true ORDER BY id")
    assert [message_numbers.find_number_before(db, row) for row in rows] == [1, 0, 0]
    outbox.mark_delivered(db, rows[0], "5", 2)
    outbox.mark_delivered(db, rows[1], "-1009:6", 2)
    assert [message_numbers.find_number_before(db, row) for row in rows] == [1, 5, 5]


@pytest.mark.skipif(bool(POSTGRESQL), reason="about SQLite's plan")
def test_number_before_a_row_is_found_without_sorting_all_messages(
    db: Database, tmp_path: Path
) -> None:
    """It is read on the event loop, in a journal that may have a million."""
    outbox.add_reply(db, "t1", HERE, [OutboxPart("1")], "edit", 1)
    (row,), sorts = outbox.list_due_rows(db, "telegram"), []
    with sqlite(tmp_path) as traced:
        traced.trace_v2(
            apsw.SQLITE_TRACE_PROFILE,
            lambda event: sorts.append(event["stmt_status"]["SQLITE_STMTSTATUS_SORT"]),
        )
        assert message_numbers.find_number_before(traced, row) == 1
    assert sorts == [0]


def test_numbers_that_the_journal_knows_are_not_free(db: Database) -> None:
    """Private chats of a bot share them; those of a group and of another bot are others."""
    for address in (HERE, THERE, GROUP, Address("telegram", "2", "7")):
        outbox.add_extra(db, None, address, [OutboxPart("a")], "direct", 1)
    lost, there, group, other = outbox.OUTBOX.select(db, "true ORDER BY id")
    for row, number in ((there, "4"), (group, "5"), (other, "6")):
        outbox.mark_delivered(db, row, number, 2)
    assert message_numbers.list_free_numbers(db, lost, 1, 7) == (
        2,
        3,
        5,
        6,
        7,
    )  # t1 answers number 1
    assert message_numbers.list_free_numbers(db, group, 4, 6) == (4, 5, 6)
    assert message_numbers.list_free_numbers(db, lost, 8, 7) == ()


def test_beginning_of_a_long_sequence_is_enough(db: Database) -> None:
    """Nothing is looked for at so many places."""
    outbox.add_extra(db, None, HERE, [OutboxPart("a")], "direct", 1)
    (row,) = outbox.list_due_rows(db, "telegram")
    assert (
        len(message_numbers.list_free_numbers(db, row, 1, 10**9)) < 10 * message_numbers.MAX_KNOWN
    )
