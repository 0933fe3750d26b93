"""T1 and what becomes of an update."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.journal import REFUSED, job, next_turn, open_turn, opened, receive, update
from fakes.postgresql import POSTGRESQL

from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import recent_turns
from orchestrator.journal.turns import inbox, outbox
from orchestrator.journal.turns.inbox import Arrival, Offset

KEY = "telegram/1/7/"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """An empty journal."""
    with opened(tmp_path) as connection:
        yield connection


def test_update_is_stored_once_whatever_number_it_comes_with(db: Database) -> None:
    """Redelivered with its update id, or again as the same message under another one."""
    assert receive(db, update(1)) == [1]
    assert receive(db, update(1), replace(update(1), update_id=99)) == []
    assert recent_turns.count_messages_by_state(db)["new"] == 1


def test_edit_and_other_accounts_and_chats_are_updates_of_their_own(db: Database) -> None:
    """Numbers repeat between bots and chats, and an edit keeps its message's number."""
    others = [
        replace(update(1), update_id=2, edit_date=5),
        replace(update(1), bot_id="2"),
        replace(update(1), update_id=3, chat_id="8"),
        replace(update(1), update_id=4, kind="edited_message"),
    ]
    assert len(receive(db, update(1), *others)) == 5


def test_messages_without_an_update_number_are_known_by_their_own(db: Database) -> None:
    """The console sends its random message id again after a lost connection."""
    first, second = (
        replace(update(n), channel="console", bot_id="local", update_id=None) for n in (1, 2)
    )
    assert len(receive(db, first, second)) == 2
    assert receive(db, first) == []
    found = inbox.find_message_by_id(db, "console", "2")
    assert found is not None
    assert found.message_id == "2"
    assert inbox.find_message_by_id(db, "telegram", "2") is None


def test_offset_is_stored_with_the_rows_or_not_at_all(db: Database) -> None:
    """A crash between the two would lose an update (invariant 1)."""

    def broken() -> Iterator[Arrival]:
        yield Arrival(update(1))
        raise RuntimeError

    with pytest.raises(RuntimeError), job(db):
        inbox.ingest(db, broken(), Offset("telegram", "1", 9), 0)  # type: ignore[arg-type]  # fails half way on purpose
    assert inbox.load_next_offset(db, "telegram", "1") == 0
    assert recent_turns.count_messages_by_state(db)["new"] == 0
    receive(db, update(8))
    assert inbox.load_next_offset(db, "telegram", "1") == 9
    receive(db, update(3))  # numbers may start anew after a quiet week
    assert inbox.load_next_offset(db, "telegram", "1") == 4
    assert inbox.load_next_offset(db, "telegram", "2") == 0


def test_place_in_a_channel_is_read_as_it_was_stored(db: Database) -> None:
    """A number, or the platform's own mark, which may have digits alone."""
    with job(db):
        for name, place in (("telegram", 5), ("matrix", "s72_9"), ("slack", "0170")):
            inbox.store_offset(db, Offset(name, "1", place))
    assert inbox.load_next_offset(db, "telegram", "1") == 5
    assert [inbox.load_cursor(db, name, "1") for name in ("matrix", "slack", "email")] == [
        *("s72_9", "0170", "")
    ]


def test_refused_update_keeps_no_text_and_is_audited(db: Database) -> None:
    """It counts as seen, so that the platform may forget it."""
    with job(db):
        assert (
            inbox.ingest(db, [Arrival(update(1, "secret"), "stranger", "Go away.")], None, 5) == []
        )
        assert (
            inbox.ingest(db, [Arrival(update(1, "secret"), "stranger", "Go away.")], None, 6) == []
        )
    row = inbox.load_message(db, 1)
    assert (row.state, row.error, row.text) == ("cancelled", "stranger", "")
    assert db.execute("SELECT actor, act, object FROM audit").fetchall() == [
        ("admission", "refused: stranger", "inbox 1")
    ]
    (notice,) = outbox.list_due_rows(db, "telegram")
    assert (notice.body, notice.chat_id, notice.mode, notice.turn_id) == (
        "Go away.",
        "7",
        "direct",
        None,
    )
    assert inbox.list_chats_with_work(db) == {}


def test_unusable_value_is_an_error_and_not_a_lost_message(db: Database) -> None:
    """Only what is known already may be left out silently."""
    bad = replace(update(1), sender_id=None)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(REFUSED), job(db):
        inbox.ingest(db, [Arrival(bad)], None, 0)


def test_router_refuses_a_stored_message_once(db: Database) -> None:
    """One notice and one entry in the audit log; a claimed message is left alone."""
    receive(db, update(1))
    row = inbox.find_oldest_new(db, KEY)
    assert row is not None
    with job(db):
        inbox.refuse_message(db, row, "no binding", "Nobody is here.", 5)
        inbox.refuse_message(db, row, "no binding", "Nobody is here.", 5)
    assert [item.body for item in outbox.list_due_rows(db, "telegram")] == ["Nobody is here."]
    assert db.execute("SELECT count(*) FROM audit").get == 1
    assert audit.find_broken_entry(db) is None
    turn = open_turn(db, "t2")
    (claimed,) = inbox.list_opening_messages(db, turn.id)
    inbox.refuse_message(db, claimed, "no binding", None, 5)
    assert inbox.list_opening_messages(db, turn.id)[0].state == "claimed"


def test_chats_with_work_come_oldest_first_and_once(db: Database) -> None:
    """Those with new messages and those with a turn to finish."""
    receive(db, update(1, chat_id="a"), now=30)
    receive(db, update(2, chat_id="b"), update(3, chat_id="b"), now=10)
    receive(db, update(4, chat_id="c"), now=20)
    next_turn(db, "t1", "a", now=5)
    assert [*inbox.list_chats_with_work(db)] == ["telegram/1/a/", "telegram/1/b/", "telegram/1/c/"]


def test_row_is_read_back_as_the_message_that_came(db: Database) -> None:
    """The router sees what the channel said; threads are chats of their own."""
    message = replace(
        update(1, "quoted ' \0 \U0001f600"), thread_id="5", private=False, target="work"
    )
    receive(db, message)
    row = inbox.load_message(db, 1)
    stored = message.text.replace("\0", "\u2400") if POSTGRESQL else message.text
    read = {name: getattr(row, name) for name in ("channel", "chat_id", "thread_id", "target")}
    assert read == {name: getattr(message, name) for name in read}
    assert (row.bot_id, row.message_id, row.sender_id) == ("1", "1", message.sender_id)
    assert (row.kind, row.private, row.text) == ("message", message.private, stored)
    assert row.chat_key == row.build_address().chat_key == "telegram/1/7/5"
    assert row.build_address().private is False
