"""Turns that are cancelled while another process ends them."""

from pathlib import Path

from fakes.journal import open_turn
from fakes.postgresql import needs_server
from fakes.two_writers import two_writers

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import cancellations, inbox, turns
from orchestrator.journal.turns.outbox import OutboxPart


@needs_server
def test_a_turn_that_is_being_answered_is_not_cancelled(tmp_path: Path) -> None:
    """Its answer is stored, and its message answered."""
    with two_writers(tmp_path) as writers:
        turn = open_turn(writers.db)

        def reply(db: Database) -> None:
            turns.end_with_reply(db, turn, [OutboxPart("hi")], "direct", ("done", None), 1)

        def cancel(db: Database) -> str | None:
            return cancellations.cancel_turn(db, turn.chat_key, "stopped", 2)

        assert writers.overlap(reply, cancel) is None
        assert turns.load_turn(writers.db, turn.id).state == "replied"
        (message,) = inbox.list_opening_messages(writers.db, turn.id)
        assert message.state == "done"
