"""Held messages: released whole and in order, or gone."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.journal import booted, job, update

from orchestrator.channel_api import Attachment, InboundMessage
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import attachments, held_messages, inbox
from orchestrator.journal.turns.inbox import Arrival

KEY = "telegram/1/7/"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal under its first epoch, whose invariants hold at the end."""
    with booted(tmp_path) as connection:
        yield connection


def refused(db: Database, *messages: InboundMessage) -> None:
    """T1 of messages of a chat that waits for its approval."""
    with job(db):
        arrivals = [Arrival(message, "not paired yet", held=True) for message in messages]
        assert inbox.ingest(db, arrivals, None, 0) == []


def test_released_messages_are_answered_before_later_ones(db: Database) -> None:
    """Each once; those of another chat stay held."""
    refused(db, update(1, "one"), update(2, "two"), update(3, "other", "8"))
    assert inbox.list_chats_with_work(db) == {}
    with job(db):
        assert held_messages.release(db, "telegram", "7") == 2
        assert held_messages.release(db, "telegram", "7") == 0
        inbox.ingest(db, [Arrival(update(4, "three"))], None, 1)
    rows = inbox.INBOX.select(db, "state = 'new' ORDER BY id")
    assert [row.text for row in rows] == ["one", "two", "three"]
    assert inbox.list_chats_with_work(db) == {KEY: True}


def test_released_album_is_one_message_with_its_pictures(db: Database) -> None:
    """Nothing of it is downloaded before."""
    parts = [
        replace(update(n, text), album="g", attachments=(Attachment(f"file-{n}", "photo"),))
        for n, text in ((1, "my cats"), (2, ""))
    ]
    refused(db, *parts)
    assert attachments.list_unread_files(db, "", KEY) == []
    with job(db):
        held_messages.release(db, "telegram", "7")
    (row,) = inbox.INBOX.select(db, "state = 'new'")
    assert row.text == "my cats"
    assert [item.handle for item in attachments.list_unread_files(db, "", KEY)] == [
        "file-1",
        "file-2",
    ]


def test_dropped_messages_stay_refused(db: Database) -> None:
    """Releasing finds none of them."""
    refused(db, update(1, "one"))
    with job(db):
        held_messages.delete_held_texts(db, "telegram", "7")
        assert held_messages.release(db, "telegram", "7") == 0
    (row,) = inbox.INBOX.select(db, "true")
    assert (row.state, row.text) == ("cancelled", "")
