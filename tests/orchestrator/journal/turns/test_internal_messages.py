"""Messages that enter a running turn keep their place in it through deaths and cancellations."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import CLASSES, job, open_turn, opened, planned, receive, step, update

from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import FencedError
from orchestrator.journal.inspect import invariants, recent_turns
from orchestrator.journal.turns import (
    cancellations,
    deadletters,
    inbox,
    internal_messages,
    sessions,
    steps,
    turns,
)
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.journal.turns.outbox import OutboxPart
from orchestrator.journal.turns.turns import Turn
from thinker.protocol.messages import AssistantMessage, ToolResult, UserMessage

DONE = ("done", None)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """An empty journal, whole at the end."""
    with opened(tmp_path) as connection:
        yield connection
        assert invariants.check_invariants(connection) == []


def enter(db: Database, turn: Turn) -> tuple[UserMessage, ...]:
    """Everything that waits."""
    with job(db):
        return internal_messages.enter_new_messages(db, turn, lambda _: True)


def steered(db: Database) -> Turn:
    """A turn of one step, after which ``wait`` and ``no`` entered it."""
    turn = open_turn(db, "t1", "first")
    (call,) = planned(db, "t1", "note")
    with job(db):
        result = ToolResult(call_id=call.call_id, name=call.name, content="ok")
        steps.finish_local(db, call, lambda _: result, 1, 2)
    receive(db, update(2, "wait"), update(3, "no"))
    assert enter(db, turn) == (UserMessage(content="wait"), UserMessage(content="no"))
    return turn


def test_messages_enter_in_order_and_belong_to_the_turn(db: Database) -> None:
    """They are no longer in line; the turn still began with its own message alone."""
    turn = steered(db)
    assert enter(db, turn) == ()
    context = turns.load_stored_turn(db, "t1", frozenset(), 50, 5)
    assert [row.text for row in context.messages] == ["first"]
    assert [message.content for message in context.steps[0].entered] == ["wait", "no"]
    assert recent_turns.count_messages_by_state(db)["claimed"] == 3


def test_session_keeps_them_where_they_came(db: Database) -> None:
    """And the reply ends them with the turn."""
    turn = steered(db)
    with job(db):
        steps.plan(db, step("t1", content="so be it"), CLASSES, 1, 4)
        turns.end_with_reply(db, turn, [OutboxPart("so be it")], "direct", DONE, 5)
    said = sessions.list_history(db, turn.session_id, 50)
    assert [type(message) for message in said] == [
        UserMessage,
        AssistantMessage,
        ToolResult,
        UserMessage,
        UserMessage,
        AssistantMessage,
    ]
    assert recent_turns.count_messages_by_state(db)["done"] == 3


def test_message_that_another_agent_answers_holds_up_the_line(db: Database) -> None:
    """No message overtakes it."""
    turn = open_turn(db)
    planned(db, "t1", "read")
    receive(db, update(2, "mine"), update(3, "yours"), update(4, "mine again"))

    def mine(row: InboxRow) -> bool:
        return row.text != "yours"

    with job(db):
        assert internal_messages.enter_new_messages(db, turn, mine) == (
            UserMessage(content="mine"),
        )
    row = inbox.find_oldest_new(db, turn.chat_key)
    assert row is not None
    assert row.text == "yours"


def test_turn_that_has_no_step_or_another_owner_takes_nothing(db: Database) -> None:
    """The message stays new."""
    turn = open_turn(db)
    receive(db, update(2))
    with pytest.raises(FencedError):
        enter(db, turn)
    planned(db, "t1", "read")
    with job(db):
        turns.boot(db, 9)
    with pytest.raises(FencedError):
        enter(db, turn)
    assert recent_turns.count_messages_by_state(db)["new"] == 1


def test_cancelled_and_dead_turns_take_their_entered_messages_along(db: Database) -> None:
    """One that is put back begins a turn of its own."""
    turn = steered(db)
    with job(db):
        turns.end_as_dead_letter(db, turn, "signal 11", "sorry", 6)
    assert recent_turns.count_messages_by_state(db)["dead"] == 3
    with job(db):
        deadletters.retry_dead_letter(db, 3, 7)
    row = inbox.find_oldest_new(db, turn.chat_key)
    assert row is not None
    assert sessions.load_transcript(db, "t1").steps[0].entered == (UserMessage(content="wait"),)
    assert cancellations.cancel_turn(db, turn.chat_key, "stopped", 8) is None
