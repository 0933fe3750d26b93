"""A delivery of a webhook becomes one message, with the rights of a stranger's text."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.journal import booted, job, open_turn, planned, receive, update

from orchestrator.extensions.erasure import erasure
from orchestrator.extensions.erasure.erasure import Subject
from orchestrator.extensions.webhooks import deliveries
from orchestrator.extensions.webhooks.deliveries import NewDelivery
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import (
    approvals,
    deadletters,
    inbox,
    outbox,
    pauses,
    questions,
    sessions,
)
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.journal.turns.outbox import Address

NEW = NewDelivery("gh", "d-1", "work", "text")
QUEUE = "hook/local/gh/"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """An empty journal, whole at the end."""
    with booted(tmp_path) as connection:
        yield connection


def stored(db: Database, new: NewDelivery = NEW) -> bool:
    """T1."""
    with job(db):
        return deliveries.store_delivery(db, new, 5)


def waiting(db: Database) -> InboxRow:
    """The oldest message of the webhook."""
    row = inbox.find_oldest_new(db, QUEUE)
    assert row is not None
    return row


def test_delivery_is_stored_once_whatever_has_changed(db: Database) -> None:
    """Its text and the chat for its answer may be others by then; another webhook is another."""
    assert stored(db)
    other = NEW._replace(text="other", notify=Address("telegram", "1", "42"))
    assert not stored(db, other)
    assert stored(db, NEW._replace(hook="gl"))
    assert db.execute("SELECT count(*) FROM inbox").get == 2


def test_message_is_foreign_text_in_a_memory_of_its_own(db: Database) -> None:
    """It is marked inside, so it has no mark around it; its answer stays in the journal."""
    stored(db)
    row = waiting(db)
    assert (row.origin, row.scope, row.target) == ("web", "hook:gh", "work")
    assert row.build_address() == Address("hook", "local", "gh")
    said = row.build_user_message(db)
    assert said.is_untrusted
    assert said.text == "text"


def test_answer_goes_to_the_chat_to_notify(db: Database) -> None:
    """Also to a thread of it, and with the memory of the webhook."""
    notify = Address("telegram", "1", "-100", "7", private=False)
    stored(db, NEW._replace(notify=notify))
    row = waiting(db)
    assert row.build_address() == notify
    assert row.scope == "hook:gh"
    assert row.author.sender == ""


def test_message_that_kills_its_process_becomes_a_dead_letter(db: Database) -> None:
    """Its sender was told that it was taken, so an operator may try it again."""
    stored(db)
    with job(db):
        assert deadletters.give_up_next(db, QUEUE, "broken", 6)
    assert db.execute("SELECT state FROM inbox").get == "dead"


def test_chat_that_is_forgotten_takes_what_was_told_to_it_along(db: Database) -> None:
    """Text of a webhook is data of that chat too."""
    receive(db, update(1, chat_id="42"))
    stored(db, NEW._replace(notify=Address("telegram", "1", "42")))
    with job(db):
        erasure.forget(db, Subject(channel="telegram", chat="42"), 7)
    assert db.execute("SELECT count(*) FROM inbox").get == 0


def test_webhook_can_be_told_although_it_has_said_nothing(db: Database) -> None:
    """Of the outcome of a task, and of an alert: the operator alone names its address."""
    deploys = Address("hook", "local", "deploys")
    assert sessions.find_known_address(db, "work", "hook", "deploys") == deploys
    assert pauses.find_notice_address(db, "work", "hook", "deploys") == deploys
    assert sessions.find_known_address(db, "work", "telegram", "42") is None


def test_question_for_an_approval_is_not_sent_to_a_webhook(db: Database) -> None:
    """It cannot answer, and the arguments may be what must not go out."""
    turn = open_turn(db)
    (planned_call,) = planned(db, turn.id, "pay")
    with job(db):
        asked, _ = approvals.request_approval(db, planned_call, "why", "code", 5)
        questions.ask_question(db, asked, Address("hook", "local", "deploys"), "May I?", 3, 5)
    (row,) = outbox.OUTBOX.select(db, "approval_id IS NOT NULL")
    assert row.state == "delivered"
    assert outbox.list_waiting_chats(db, "hook") == []


def told(db: Database, number: str, now: int, **fields: Any) -> bool:
    """T1 of a delivery with a signed text, which counts once in 100 ms."""
    new = NEW._replace(id=number, signed=b"body", once_ms=100)._replace(**fields)
    with job(db):
        return deliveries.store_delivery(db, new, now)


def test_signed_text_counts_once_under_any_id(db: Database) -> None:
    """Ids are not signed; another text is another event, and so is that of another webhook."""
    assert told(db, "a", 1)
    assert [told(db, name, 50) for name in ("b", "c")] == [False, False]
    assert told(db, "d", 50, signed=b"other")
    assert told(db, "e", 50, hook="gl")
    assert db.execute("SELECT count(*) FROM inbox").get == 3


def test_signed_text_counts_anew_after_its_time(db: Database) -> None:
    """It begins when the text came first, so that regular events are not held back for ever."""
    assert told(db, "a", 1)
    assert not told(db, "b", 100)
    assert told(db, "c", 102)


def test_equal_bodies_are_events_where_the_operator_says_so(db: Database) -> None:
    """Each has an id of its own."""
    assert all(told(db, name, 1, once_ms=0) for name in "abc")
    assert db.execute("SELECT count(*) FROM meta WHERE k LIKE 'hook-signed/%'").get == 0


def test_known_texts_are_bounded(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest are kept, without those whose time is over."""
    monkeypatch.setattr(deliveries, "MAX_SIGNED", 3)
    for number in range(6):
        assert told(db, str(number), number, signed=bytes([number]))
    count = "SELECT count(*) FROM meta WHERE k LIKE 'hook-signed/%'"
    assert db.execute(count).get == 3
    assert not told(db, "again", 7, signed=bytes([5]))
    assert told(db, "later", 500, signed=b"x")
    assert db.execute(count).get == 1
