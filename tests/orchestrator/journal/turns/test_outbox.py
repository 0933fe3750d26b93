"""The outbox: order, previews, and what a boot makes of half-sent messages."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.journal import open_turn, opened

from orchestrator.channel_api import ReplyPart
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import outbox, turns
from orchestrator.journal.turns.outbox import Address, OutboxPart, OutboxRow

HERE = Address("telegram", "1", "7")
THERE = Address("telegram", "1", "8")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal with the open turn t1."""
    with opened(tmp_path) as connection:
        open_turn(connection)
        yield connection


def due(db: Database) -> list[tuple[str, str, str]]:
    """What may be sent now: chat, text and state."""
    return [(row.chat_id, row.body, row.state) for row in outbox.list_due_rows(db, "telegram")]


def first(db: Database) -> OutboxRow:
    """The row that is to be sent first."""
    return outbox.list_due_rows(db, "telegram")[0]


def texts(db: Database) -> list[str]:
    """What a chat would see, in its order."""
    found = []
    while rows := outbox.list_due_rows(db, "telegram"):
        found.append(rows[0].body)
        outbox.mark_delivered(db, rows[0], "m", 1)
    return found


def test_parts_of_a_chat_wait_for_each_other_and_chats_do_not(db: Database) -> None:
    """Part two only when part one has ended, however it ended; other channels are separate."""
    outbox.add_reply(
        db, "t1", HERE, [OutboxPart("1"), OutboxPart("2"), OutboxPart("3")], "direct", 1
    )
    outbox.add_notice(db, THERE, "notice", 1)
    outbox.add_notice(db, replace(HERE, channel="console"), "elsewhere", 1)
    assert due(db) == [("7", "1", "queued"), ("8", "notice", "queued")]
    outbox.mark_sending(db, first(db).id, "sending", 2)
    assert due(db)[0] == ("7", "1", "sending")
    outbox.end_row(db, first(db).id, "unknown", "timeout", 3)
    assert due(db)[0] == ("7", "2", "queued")
    outbox.requeue(db, first(db).id, "429", 5000)
    assert (first(db).body, first(db).not_before, first(db).attempt) == ("2", 5000, 0)
    outbox.mark_delivered(db, first(db), "m2", 4)
    assert due(db)[0] == ("7", "3", "queued")


def test_reply_that_is_read_in_the_journal_is_delivered_with_the_turn(db: Database) -> None:
    """Nothing is left to send, and the turn is closed in the transaction of its reply."""
    turns.end_with_reply(
        db, turns.load_turn(db, "t1"), [OutboxPart("hello")], outbox.STORED, ("done", None), 5
    )
    assert due(db) == []
    assert outbox.list_texts_of_turn(db, "t1") == ("hello",)
    assert db.execute("SELECT state, ended_at FROM outbox").fetchall() == [("delivered", 5)]
    assert turns.load_turn(db, "t1").state == "closed"


def test_edit_into_a_placeholder_is_repeated_after_a_boot(db: Database) -> None:
    """No other placeholder is sent."""
    outbox.add_reply(db, "t1", HERE, [OutboxPart("hello")], "edit", 1)
    outbox.mark_sending(db, first(db).id, "ph_sending", 2)
    outbox.mark_placeholder_sent(db, first(db).id, "m1")
    outbox.mark_sending(db, first(db).id, "sending", 3)
    assert due(db) == [("7", "hello", "sending")]
    turns.boot(db, 4)
    assert (first(db).state, first(db).ph_id, first(db).attempt) == ("ph_sent", "m1", 2)


def test_preview_and_reply_are_the_same_row(db: Database) -> None:
    """Once it has its place it is not due; T6 gives it the text of the first part."""
    outbox.start_preview(db, "t1", HERE, OutboxPart("Let me"), 1)
    assert due(db) == [("7", "Let me", "queued")]
    row = first(db).id
    outbox.mark_placeholder_sent(db, row, "m1")
    assert due(db) == []
    assert outbox.find_preview_message(db, "t1") == "m1"
    outbox.add_reply(db, "t1", HERE, [OutboxPart("Let me see."), OutboxPart("Done.")], "edit", 2)
    assert outbox.find_preview_message(db, "t1") is None
    assert [(item.id, item.state, item.ph_id) for item in outbox.list_due_rows(db, "telegram")] == [
        (row, "ph_sent", "m1")
    ]
    assert outbox.list_texts_of_turn(db, "t1") == ("Let me see.", "Done.")
    assert texts(db) == ["Let me see.", "Done."]


def test_next_process_goes_on_with_the_preview_of_the_last(db: Database) -> None:
    """A second one would stand in the chat for ever."""
    outbox.start_preview(db, "t1", HERE, OutboxPart("Let"), 1)
    outbox.mark_sending(db, first(db).id, "ph_sending", 1)
    turns.boot(db, 2)
    assert due(db) == [("7", "Let", "queued")]
    outbox.mark_placeholder_sent(db, first(db).id, "m1")
    turns.boot(db, 3)
    outbox.start_preview(db, "t1", HERE, OutboxPart("Let me see"), 4)
    assert outbox.find_preview_message(db, "t1") == "m1"
    assert db.execute("SELECT count(*) FROM outbox").get == 1


def test_answer_of_a_turn_that_has_ended_gets_no_preview(db: Database) -> None:
    """It would never get a text."""
    turns.end_with_reply(
        db, turns.load_turn(db, "t1"), [OutboxPart("hi")], "edit", ("done", None), 1
    )
    outbox.start_preview(db, "t1", HERE, OutboxPart("h"), 2)
    assert texts(db) == ["hi"]


def test_preview_that_was_never_sent_becomes_an_ordinary_row(db: Database) -> None:
    """It may or may not have arrived: the reply is sent as a new message."""
    outbox.start_preview(db, "t1", HERE, OutboxPart("Let me"), 1)
    row = first(db).id
    outbox.mark_sending(db, row, "ph_sending", 1)
    outbox.add_reply(db, "t1", HERE, [OutboxPart("Let me see.")], "edit", 2)
    outbox.requeue(db, row, "no route", 3)
    assert (first(db).state, first(db).ph_id, first(db).body) == ("queued", None, "Let me see.")


def test_preview_keeps_its_place_and_then_holds_up_no_message(db: Database) -> None:
    """It waits for what was queued before; what a tool sends meanwhile waits until it is seen."""
    outbox.add_notice(db, HERE, "before", 1)
    outbox.start_preview(db, "t1", HERE, OutboxPart("Let me"), 2)
    outbox.add_extra(db, "t1", HERE, [OutboxPart("by the way")], "direct", 3)
    assert due(db) == [("7", "before", "queued")]
    outbox.mark_delivered(db, first(db), "m1", 4)
    assert due(db) == [("7", "Let me", "queued")]
    outbox.mark_placeholder_sent(db, first(db).id, "m2")
    assert due(db) == [("7", "by the way", "queued")]
    outbox.add_reply(db, "t1", HERE, [OutboxPart("Done."), OutboxPart("Bye.")], "edit", 5)
    assert texts(db) == ["Done.", "by the way", "Bye."]


def test_preview_that_a_chat_refuses_is_given_up_and_the_reply_is_not(
    db: Database,
) -> None:
    """The reply becomes a row of its own, whose fate is told."""
    outbox.start_preview(db, "t1", HERE, OutboxPart("Let me"), 1)
    outbox.mark_refused(db, first(db).id, "blocked", 2)
    assert due(db) == []
    turns.end_with_reply(
        db, turns.load_turn(db, "t1"), [OutboxPart("Done.")], "edit", ("done", None), 3
    )
    row = first(db).id
    outbox.mark_refused(db, row, "blocked", 4)
    assert db.execute("SELECT state FROM outbox WHERE id = ?", (row,)).get == "failed_permanent"
    assert turns.load_turn(db, "t1").state == "closed"


def test_row_that_has_ended_is_not_sent(db: Database) -> None:
    """A stopped turn gives its preview up while the queue waits for the platform's rate."""
    outbox.start_preview(db, "t1", HERE, OutboxPart("Let me"), 1)
    row = first(db).id
    turns.close_preview(db, "t1", ReplyPart("Let me\n\n(stopped)"))
    assert not outbox.mark_sending(db, row, "ph_sending", 2)
    outbox.mark_placeholder_sent(db, row, "m1")
    assert db.execute("SELECT state, ph_id FROM outbox").fetchall() == [("abandoned", None)]


def test_preview_that_is_being_sent_when_its_turn_stops_ends_so(db: Database) -> None:
    """What a chat has seen does not stay unfinished."""
    outbox.start_preview(db, "t1", HERE, OutboxPart("Let me …"), 1)
    row = first(db).id
    outbox.mark_sending(db, row, "ph_sending", 2)
    turns.close_preview(db, "t1", ReplyPart("Let me\n\n(stopped)"))
    outbox.mark_placeholder_sent(db, row, "m1")
    assert due(db) == [("7", "Let me\n\n(stopped)", "ph_sent")]


def test_what_a_tool_sent_stands_before_the_reply(db: Database) -> None:
    """In the order in which it was queued."""
    outbox.add_extra(db, "t1", HERE, [OutboxPart("a"), OutboxPart("b")], "edit", 2)
    outbox.add_reply(db, "t1", HERE, [OutboxPart("reply")], "edit", 3)
    assert texts(db) == ["a", "b", "reply"]


def test_boot_repeats_edits_and_never_a_direct_message(db: Database) -> None:
    """An edit changes nothing the second time; a message that may have arrived is unknown."""
    addresses = [replace(HERE, chat_id=str(number)) for number in range(4)]
    outbox.add_extra(
        db, "t1", addresses[0], [OutboxPart("direct"), OutboxPart("after")], "direct", 1
    )
    for address in addresses[1:]:
        outbox.add_extra(db, "t1", address, [OutboxPart("edit")], "edit", 1)
    direct, placeholder, edit, queued = outbox.list_due_rows(db, "telegram")
    outbox.mark_sending(db, direct.id, "sending", 2)
    outbox.mark_sending(db, placeholder.id, "ph_sending", 2)
    outbox.mark_placeholder_sent(db, edit.id, "m1")
    outbox.mark_sending(db, edit.id, "sending", 2)
    turns.boot(db, 3)
    assert due(db) == [
        ("0", "after", "queued"),
        ("1", "edit", "queued"),
        ("2", "edit", "ph_sent"),
        ("3", "edit", "queued"),
    ]
    assert db.execute("SELECT state FROM outbox WHERE id = ?", (direct.id,)).get == "unknown"
    before = db.execute("SELECT * FROM outbox ORDER BY id").fetchall()
    turns.boot(db, 4)
    assert db.execute("SELECT * FROM outbox ORDER BY id").fetchall() == before
    assert queued.attempt == 0


def test_boot_repeats_what_may_be_said_again_so_often(db: Database) -> None:
    """A repeated question does no harm, and later messages do not wait for it for ever."""
    outbox.add_notice(db, HERE, "May I?", 1, again=1)
    outbox.mark_sending(db, first(db).id, "sending", 2)
    turns.boot(db, 3)
    assert due(db) == [("7", "May I?", "queued")]
    outbox.mark_sending(db, first(db).id, "sending", 4)
    turns.boot(db, 5)
    assert due(db) == []
    assert outbox.pop_unconfirmed(db, HERE.chat_key, 6) == ["May I?"]


def test_message_that_boot_leaves_unknown_can_close_its_turn(db: Database) -> None:
    """Nothing else will ever end that turn."""
    turns.end_with_reply(
        db, turns.load_turn(db, "t1"), [OutboxPart("hi")], "direct", ("done", None), 1
    )
    outbox.mark_sending(db, first(db).id, "sending", 2)
    turns.boot(db, 3)
    assert turns.load_turn(db, "t1").state == "closed"


def test_edit_is_repeated_after_one_that_may_land_late(db: Database) -> None:
    """Once, after a while, whatever is killed meanwhile; no later row waits for it."""
    outbox.start_preview(db, "t1", HERE, OutboxPart("Let me"), 1)
    row = first(db)
    outbox.mark_placeholder_sent(db, row.id, "m1")
    turns.boot(db, 2)
    turns.end_with_reply(
        db,
        turns.load_turn(db, "t1"),
        [OutboxPart("Done."), OutboxPart("2")],
        "edit",
        ("done", None),
        3,
    )
    outbox.mark_sending(db, row.id, "sending", 4)
    outbox.mark_delivered(db, row, "m1", 5)
    turns.boot(db, 6)
    assert due(db) == [("7", "2", "queued")]
    outbox.mark_delivered(db, first(db), "m2", 7)
    assert due(db) == [("7", "Done.", "ph_sent")]
    assert (first(db).is_shown, first(db).not_before) == (True, 5 + outbox.LATE_EDIT)
    assert turns.load_turn(db, "t1").state == "replied"
    outbox.mark_sending(db, row.id, "sending", 8)
    turns.boot(db, 9)
    assert due(db) == [("7", "Done.", "ph_sent")]
    outbox.mark_delivered(db, row, "m1", 10)
    assert due(db) == []
    assert turns.load_turn(db, "t1").state == "closed"


def test_failed_edit_is_repeated_and_a_lost_placeholder_replaced(db: Database) -> None:
    """The row remembers whether it has a message to edit."""
    outbox.add_reply(db, "t1", HERE, [OutboxPart("hi")], "edit", 1)
    row = first(db).id
    outbox.mark_sending(db, row, "ph_sending", 1)
    outbox.requeue(db, row, "no route", 9)
    assert first(db).state == "queued"
    outbox.mark_placeholder_sent(db, row, "m1")
    outbox.mark_sending(db, row, "sending", 1)
    outbox.requeue(db, row, "429", 9)
    assert (first(db).state, first(db).ph_id, first(db).attempt) == ("ph_sent", "m1", 2)
    outbox.forget_placeholder(db, row)
    assert (first(db).state, first(db).ph_id) == ("queued", None)


def test_row_keeps_how_it_is_to_be_sent(db: Database) -> None:
    """The daemon's own text is not Markdown; a thread belongs to the address."""
    thread = replace(HERE, thread_id="5", private=False)
    outbox.add_reply(
        db, "t1", thread, [OutboxPart("*a*", markdown=False, reply_to="m0")], "direct", 1
    )
    row = first(db)
    assert (row.thread_id, row.markdown, row.reply_to, row.final) == ("5", False, "m0", True)
    assert row.chat_key == thread.chat_key == "telegram/1/7/5"
