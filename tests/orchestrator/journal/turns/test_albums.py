"""The parts of an album become one message, in whatever batches they come."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.journal import booted, job, next_turn, receive, update

from orchestrator.channel_api import NOT_ADDRESSED, Attachment, InboundMessage
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import albums, inbox
from orchestrator.journal.turns.inbox import Arrival

KEY = "telegram/1/7/"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal under its first epoch, whose invariants hold at the end."""
    with booted(tmp_path) as connection:
        yield connection


def part(number: int, text: str = "", album: str | None = "g") -> InboundMessage:
    """A picture of an album."""
    picture = Attachment(f"file-{number}", f"photo {number}")
    return replace(update(number, text), album=album, attachments=(picture,))


def arrive(db: Database, *arrivals: Arrival) -> list[int]:
    """T1 of a batch of a group."""
    with job(db):
        return inbox.ingest(db, arrivals, None, 0)


def waiting(db: Database) -> list[tuple[str, list[str]]]:
    """The messages that wait, each with its pictures."""
    rows = inbox.INBOX.select(db, "state = 'new' ORDER BY id")
    sql = "SELECT handle FROM attachment WHERE inbox_id = ? ORDER BY part"
    return [(row.text, [str(name) for (name,) in db.execute(sql, (row.id,))]) for row in rows]


def test_album_is_one_message_with_its_pictures_in_order(db: Database) -> None:
    """From two batches, with the one caption."""
    receive(db, part(1, "my cats"), part(2))
    receive(db, part(3), part(4))
    assert waiting(db) == [("my cats", ["file-1", "file-2", "file-3", "file-4"])]
    states = [state for (state,) in db.execute("SELECT state FROM inbox ORDER BY id")]
    assert states == ["new", "done", "done", "done"]


def test_part_that_comes_twice_joins_once(db: Database) -> None:
    """As when its acknowledgment was lost."""
    receive(db, part(1), part(2, "twice"))
    receive(db, part(2, "twice"), part(3))
    assert waiting(db) == [("twice", ["file-1", "file-2", "file-3"])]


def test_other_messages_and_albums_stay_apart(db: Database) -> None:
    """Also those that come between the parts of one."""
    receive(db, part(1), update(2, "hello"), part(3, "b", "h"), part(4), part(5, album=None))
    assert waiting(db) == [
        ("", ["file-1", "file-4"]),
        ("hello", []),
        ("b", ["file-3"]),
        ("", ["file-5"]),
    ]


def test_late_part_is_a_message_of_its_own(db: Database) -> None:
    """Its album is being answered; what comes after it joins it."""
    receive(db, part(1, "early"), part(2))
    assert next_turn(db, "t1") is not None
    receive(db, part(3), part(4, "late"))
    assert waiting(db) == [("late", ["file-3", "file-4"])]
    (row,) = inbox.list_opening_messages(db, "t1")
    assert row.text == "early"


def test_album_without_an_end_is_cut(db: Database) -> None:
    """Telegram allows ten parts; another server cannot fill a message without a limit."""
    receive(db, *map(part, range(1, 13)))
    assert [len(pictures) for _, pictures in waiting(db)] == [10, 1, 1]


@pytest.mark.parametrize("named", [1, 2, 3])
def test_caption_that_addresses_the_bot_addresses_the_whole_album(db: Database, named: int) -> None:
    """Whichever part has it; in a group the others look like talk between people."""
    for number in (1, 2, 3):
        message = part(number, "look" if number == named else "")
        arrive(db, Arrival(message, None if number == named else NOT_ADDRESSED))
    assert waiting(db) == [("look", ["file-1", "file-2", "file-3"])]


def test_album_that_is_not_addressed_is_refused(db: Database) -> None:
    """And so is every part of a chat that is not admitted."""
    assert arrive(db, Arrival(part(1, "a"), NOT_ADDRESSED), Arrival(part(2), NOT_ADDRESSED)) == []
    assert arrive(db, Arrival(part(3, "b", "h"), "not paired yet")) == []
    assert arrive(db, Arrival(part(4, "c", "h"))) == [4]
    assert waiting(db) == [("c", ["file-4"])]


def test_album_settles_when_no_part_came_for_a_moment(db: Database) -> None:
    """Each part prolongs the wait; ten are complete, and a clock that was set back holds none."""

    def wait(now: int, since: int = 0) -> int:
        return albums.compute_album_wait(db, KEY, "g", now, since)

    receive(db, part(1), now=5_000)
    receive(db, part(2), now=5_600)
    assert [wait(5_600), wait(6_500), wait(6_600)] == [1_000, 100, 0]
    assert wait(6_600, since=6_400) == 800
    assert wait(4_000) == 0
    receive(db, *map(part, range(3, 11)), now=5_600)
    assert wait(5_600) == 0
    assert albums.compute_album_wait(db, KEY, None, 5_600, 0) == 0
