"""Messages that two nodes change at one time: the poller corrects one, its agent's node claims it.

Each test runs one change while the other's transaction is not stored yet.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.journal import CLASSES, job, next_turn, open_turn, receive, step, update
from fakes.postgresql import needs_server
from fakes.turn_bench import turn_bench
from fakes.two_writers import TwoWriters, two_writers

from orchestrator.channel_api import EDIT, REMOVAL, Attachment, InboundMessage
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import inbox, internal_messages, steps
from orchestrator.journal.turns.inbox import INBOX, Arrival
from orchestrator.turns.turn_runner import OpenTurn
from thinker.protocol.messages import QuotedMessage

pytestmark = needs_server


@pytest.fixture
def writers(tmp_path: Path) -> Iterator[TwoWriters]:
    """A journal under its first epoch."""
    with two_writers(tmp_path / "shared") as both:
        yield both


def claim(db: Database) -> None:
    """T2 of the oldest message."""
    assert next_turn(db, "t9") is not None


def store(*messages: InboundMessage) -> Callable[[Database], list[int]]:
    """T1 of messages."""
    return lambda db: inbox.ingest(db, [Arrival(message) for message in messages], None, 0)


def edit(of: int, text: str) -> InboundMessage:
    """Return an edit of the message of update ``of``."""
    return replace(update(99, text), message_id=str(of), kind=EDIT, edit_date=10)


def picture(number: int, text: str = "") -> InboundMessage:
    """Return a part of an album."""
    attachment = Attachment(f"file-{number}", "photo")
    return replace(update(number, text), album="g", attachments=(attachment,))


def test_an_edit_of_a_message_that_is_being_claimed_comes_by_itself(writers: TwoWriters) -> None:
    """The turn has read the old words."""
    receive(writers.db, update(1, "two plus two"))
    (row,) = writers.overlap(claim, store(edit(1, "two plus three")))
    found = inbox.load_message(writers.db, row)
    assert (found.state, found.text) == ("new", "two plus three")
    quote = QuotedMessage(kind="correction", by="sender", text="two plus two")
    assert found.quote == quote.model_dump_json(exclude_defaults=True)


def test_a_late_part_of_an_album_that_is_being_claimed_comes_by_itself(writers: TwoWriters) -> None:
    """The turn has not seen its picture."""
    receive(writers.db, picture(1, "my cats"))
    (row,) = writers.overlap(claim, store(picture(2)))
    found = inbox.load_message(writers.db, row)
    assert found.state == "new"
    assert found.pictured


def test_a_message_that_is_being_claimed_is_not_withdrawn(writers: TwoWriters) -> None:
    """Its turn keeps the words that it has read."""
    receive(writers.db, update(1, "hello"))
    removal = replace(edit(1, ""), kind=REMOVAL, sender_id="")
    assert writers.overlap(claim, store(removal)) == []
    (found,) = INBOX.select(writers.db, "true")
    assert (found.state, found.text) == ("claimed", "hello")
    assert list(writers.db.execute("SELECT 1 FROM transition WHERE note LIKE 'changed%'")) == []


async def test_a_turn_begins_with_the_words_of_an_edit_before_it(
    writers: TwoWriters, tmp_path: Path
) -> None:
    """The edit is stored between the look at the message and T2."""
    receive(writers.db, update(1, "two plus two"))
    async with turn_bench(tmp_path) as bench:
        bench.opener.placement = bench.placement  # as of a node that shares the journal
        opening = bench.opener.build_opening()
        opened = writers.overlap(
            store(edit(1, "two plus three")), lambda db: opening.open_next(db, "telegram/1/7/")
        )
    assert isinstance(opened, OpenTurn)
    assert opened.preloaded is not None
    assert [said.content for said in opened.preloaded.stored.said] == ["two plus three"]


def test_the_words_of_an_edit_before_it_enter_a_running_turn(writers: TwoWriters) -> None:
    """They join it between two steps."""
    turn = open_turn(writers.db)
    with job(writers.db):
        steps.plan(writers.db, step("t1", "note"), CLASSES, 1, 1)
    receive(writers.db, update(2, "wait"))
    entered = writers.overlap(
        store(edit(2, "go on")),
        lambda db: internal_messages.enter_new_messages(db, turn, lambda _: True),
    )
    assert [message.content for message in entered] == ["go on"]
