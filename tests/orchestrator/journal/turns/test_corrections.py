"""Corrections: edits and removals of messages, while they wait and later."""

from dataclasses import replace
from pathlib import Path

import pytest
from fakes.journal import booted, job, next_turn, receive, update

from orchestrator.channel_api import EDIT, REMOVAL, Attachment, InboundMessage
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import invariants
from orchestrator.journal.turns import corrections, inbox, turns
from orchestrator.journal.turns.inbox import INBOX, InboxRow
from orchestrator.journal.turns.outbox import OutboxPart
from thinker.protocol.messages import QuotedMessage

PICTURE = Attachment("h1", "photo")


def edit(of: int, number: int, text: str, date: int = 10) -> InboundMessage:
    """Return an edit of the message of update ``of``."""
    return replace(update(number, text), message_id=str(of), kind=EDIT, edit_date=date)


def removal(of: int, number: int = 99) -> InboundMessage:
    """Return the removal of the message of update ``of``."""
    return replace(update(number, ""), message_id=str(of), kind=REMOVAL, sender_id="")


def waiting(db: Database) -> list[str]:
    """Return the texts that wait, in order."""
    return [row.text for row in INBOX.select(db, "state = 'new' ORDER BY id")]


def handles(db: Database) -> list[str]:
    """Return the handles of the stored files, in order."""
    return [str(handle) for (handle,) in db.execute("SELECT handle FROM attachment ORDER BY part")]


def reason(db: Database, number: int) -> str | None:
    """Return why an update became no message."""
    row: InboxRow = INBOX.select(db, "update_id = ?", number)[0]
    return row.error


def test_a_waiting_message_is_answered_once_in_its_new_words(tmp_path: Path) -> None:
    """It keeps its place in line, and an update that comes twice changes nothing."""
    with booted(tmp_path) as db:
        receive(db, update(1, "two plus two"), update(2, "and you?"))
        for _ in range(2):
            assert receive(db, edit(1, 3, "two plus three")) == []
            assert waiting(db) == ["two plus three", "and you?"]
        assert reason(db, 3) == corrections.REPLACED
        assert db.execute("SELECT count(*) FROM audit").get == 0
        notes = "SELECT note FROM transition WHERE kind = 'inbox' AND number = 1 AND note <> ''"
        assert ("changed in its chat",) in list(db.execute(notes))
        assert invariants.check_invariants(db) == []


def test_the_newest_wording_wins_whatever_order_edits_come_in(tmp_path: Path) -> None:
    """Histories that are read again may bring an old one last; two may have one second."""
    with booted(tmp_path) as db:
        receive(db, update(1, "a"), edit(1, 2, "c", 20), edit(1, 3, "b", 10))
        assert waiting(db) == ["c"]
        assert reason(db, 3) == corrections.OLDER
        receive(db, edit(1, 4, "d", 20))
        assert waiting(db) == ["d"]


@pytest.mark.parametrize("numbered", [True, False])
def test_an_edit_of_the_same_second_is_not_lost(tmp_path: Path, *, numbered: bool) -> None:
    """The first one replaced words that waited, and the turn began before the second."""
    with booted(tmp_path) as db:
        first, second, third = (
            message if numbered else replace(message, update_id=None)
            for message in (edit(1, 2, "b"), edit(1, 3, "c"), edit(1, 4, "d"))
        )
        receive(db, update(1, "a"), first)
        next_turn(db, "t1")
        (row,) = receive(db, second)
        receive(db, third, second if numbered else third)
        assert waiting(db) == ["d"]
        found = inbox.load_message(db, row).build_user_message(db)
        assert found.quote == QuotedMessage(kind="correction", by="sender", text="b")
        assert db.execute("SELECT count(*) FROM inbox").get == 4
        assert invariants.check_invariants(db) == []


def test_an_edit_that_comes_again_does_not_undo_the_next(tmp_path: Path) -> None:
    """Though both have the same second."""
    with booted(tmp_path) as db:
        first, second = edit(1, 2, "b"), edit(1, 3, "c")
        receive(db, update(1, "a"), first, second, first)
        assert waiting(db) == ["c"]


def test_a_turn_that_has_begun_gets_the_new_words_with_the_old(tmp_path: Path) -> None:
    """They wait as a message of their own, which another edit replaces."""
    with booted(tmp_path) as db:
        receive(db, update(1, "at five"))
        next_turn(db, "t1")
        (row,) = receive(db, edit(1, 2, "at six"))
        receive(db, edit(1, 3, "at seven", 20))
        found = inbox.load_message(db, row).build_user_message(db)
        assert found.quote == QuotedMessage(kind="correction", by="sender", text="at five")
        assert found.text == (
            "[this corrects an earlier message, which said]\n> at five\n\nat seven"
        )
        assert inbox.load_message(db, 1).text == "at five"


def test_an_edit_of_an_answered_message_is_no_message(tmp_path: Path) -> None:
    """It would be answered a second time."""
    with booted(tmp_path) as db:
        receive(db, update(1, "hello"))
        next_turn(db, "t1")
        with job(db):
            end = ("done", None)
            turns.end_with_reply(
                db, turns.load_turn(db, "t1"), [OutboxPart("hi")], "direct", end, 2
            )
        assert receive(db, edit(1, 2, "hello!")) == []
        assert reason(db, 2) == corrections.ANSWERED


def test_nobody_corrects_the_words_of_others(tmp_path: Path) -> None:
    """A chat system may pass on a forged edit."""
    with booted(tmp_path) as db:
        receive(db, update(1, "pay Ann"))
        assert receive(db, replace(edit(1, 2, "pay Eve"), sender_id="666")) == []
        assert waiting(db) == ["pay Ann"]
        assert reason(db, 2) == corrections.FOREIGN
        assert audit.find_broken_entry(db) is None


def test_a_correction_brings_its_own_files_and_quote(tmp_path: Path) -> None:
    """Those of the old wording are gone."""
    with booted(tmp_path) as db:
        receive(db, replace(update(1, "this"), attachments=(PICTURE,)))
        other = PICTURE._replace(handle="h2")
        quote = QuotedMessage(text="which?", by="agent")
        receive(db, replace(edit(1, 2, "that"), attachments=(other,), quote=quote))
        assert (waiting(db), handles(db)) == (["that"], ["h2"])
        assert inbox.load_message(db, 1).build_user_message(db).quote == quote


@pytest.mark.parametrize("part", [1, 2, 3])
def test_a_caption_of_an_album_is_corrected(tmp_path: Path, part: int) -> None:
    """Whichever part it stands below; its pictures stay in order."""
    with booted(tmp_path) as db:
        for number in (1, 2, 3):
            picture = PICTURE._replace(handle=f"h{number}")
            message = replace(update(number, f"c{number}"), album="a", attachments=(picture,))
            receive(db, message)
        picture = PICTURE._replace(handle=f"h{part}")
        receive(db, replace(edit(part, 9, "new"), attachments=(picture,)))
        captions = [f"c{number}" if number != part else "new" for number in (1, 2, 3)]
        assert waiting(db) == ["\n".join(captions)]
        assert handles(db) == ["h1", "h2", "h3"]
        receive(db, removal(part))
        kept = [f"c{number}" for number in (1, 2, 3) if number != part]
        assert waiting(db) == ["\n".join(kept)]
        assert len(handles(db)) == 2


def test_a_message_that_is_deleted_while_it_waits_is_not_answered(tmp_path: Path) -> None:
    """Its words are forgotten; one that was begun or never seen is left as it is."""
    with booted(tmp_path) as db:
        receive(db, update(1, "first"))
        next_turn(db, "t1")
        receive(db, replace(update(2, "a secret"), attachments=(PICTURE,)), update(3, "third"))
        for number in (1, 2, 2, 77):
            assert receive(db, removal(number)) == []
        assert waiting(db) == ["third"]
        assert inbox.load_message(db, 1).state == "claimed"
        gone = inbox.load_message(db, 2)
        assert (gone.state, gone.text, gone.error) == ("cancelled", "", corrections.DELETED)
        assert handles(db) == []
        assert db.execute("SELECT count(*) FROM inbox").get == 3
        assert invariants.check_invariants(db) == []
