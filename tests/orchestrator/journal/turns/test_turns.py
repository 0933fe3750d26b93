"""T0, T2, T6, T9 and the dead letter."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.journal import (
    CLASSES,
    job,
    next_turn,
    open_turn,
    opened,
    planned,
    receive,
    row_of,
    step,
    store_in,
    update,
)
from fakes.time_limit import time_limit

from orchestrator.channel_api import ReplyPart
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import FencedError
from orchestrator.journal.inspect import recent_turns
from orchestrator.journal.turns import cancellations, inbox, outbox, sessions, steps, turns
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.journal.turns.outbox import OutboxPart
from orchestrator.journal.turns.turns import Turn, TurnAdmission
from thinker.protocol.messages import AssistantMessage, ToolResult, UserMessage

DONE = ("done", None)
KEY = "telegram/1/7/"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """An empty journal."""
    with opened(tmp_path) as connection:
        yield connection


def everything(db: Database) -> list[object]:
    """All rows that a turn touches."""
    queries = (
        "SELECT * FROM inbox ORDER BY id",
        "SELECT * FROM turn ORDER BY id",
        "SELECT * FROM step ORDER BY turn_id, seq",
        "SELECT * FROM outbox ORDER BY id",
        "SELECT * FROM message ORDER BY id",
        "SELECT * FROM session ORDER BY id",
        "SELECT * FROM audit ORDER BY id",
    )
    return [db.execute(query).fetchall() for query in queries]


def history(db: Database, turn: Turn) -> tuple[object, ...]:
    """What the session holds."""
    return sessions.list_history(db, turn.session_id, 50)


def test_first_time_that_a_worker_was_ready_stays(db: Database) -> None:
    """It is stored with the turn's first pause, and a later attempt does not change it."""
    turn = open_turn(db)
    with job(db):
        turns.park(db, replace(turn, ready_at=4), "approval")
        turns.unpark(db, turn, 5)
        turns.end_with_reply(db, replace(turn, ready_at=6), [OutboxPart("hi")], "direct", DONE, 7)
    assert turns.load_turn(db, turn.id).ready_at == 4


def test_messages_of_a_chat_are_admitted_in_order_one_at_a_time(db: Database) -> None:
    """Another chat has a turn of its own meanwhile (invariant 3)."""
    receive(db, update(2, "first"), update(1, "second"), update(3, "other", "8"))
    turn = next_turn(db, "t1")
    assert turn is not None
    assert [row.text for row in inbox.list_opening_messages(db, "t1")] == ["first"]
    assert next_turn(db, "t2") is None
    assert next_turn(db, "t3", "8") is not None
    with job(db):
        turns.end_with_reply(db, turn, [OutboxPart("hi")], "direct", DONE, 1)
    assert next_turn(db, "t4") is not None
    assert [row.text for row in inbox.list_opening_messages(db, "t4")] == ["second"]
    assert turns.count_open_turns(db) == 2


async def test_only_one_of_many_concurrent_admissions_wins(tmp_path: Path) -> None:
    """Eight queues of one chat: one turn, one claimed message."""
    store = store_in(tmp_path)

    def admit(db: Database, number: int) -> Turn | None:
        row = inbox.find_oldest_new(db, KEY)
        if row is None:
            return None
        return turns.admit_message(db, row, TurnAdmission(f"t{number}", "work", 1, 15, "1"), 0)

    with time_limit():
        await store.transact(inbox.ingest, [Arrival(update(n)) for n in (1, 2)], None, 0)
        admitted = await asyncio.gather(*(store.transact(admit, number) for number in range(8)))
        counts = await store.transact(recent_turns.count_messages_by_state)
    store.close()
    assert len([turn for turn in admitted if turn is not None]) == 1
    assert (counts["new"], counts["claimed"]) == (1, 1)


def test_message_that_was_taken_is_not_admitted_again(db: Database) -> None:
    """And no turn is left behind by the attempt."""
    turn = open_turn(db)
    row = row_of(db, "t1")
    turns.end_with_reply(db, turn, [OutboxPart("hi")], "direct", DONE, 1)
    with pytest.raises(FencedError), job(db):
        turns.admit_message(db, row, TurnAdmission("t2", "work", 1, 15, "1"), 2)
    assert turns.count_open_turns(db) == 0


def test_boot_adopts_open_turns_and_gives_them_their_time_again(db: Database) -> None:
    """The time without a daemon does not count; ended turns are left alone."""
    first = open_turn(db, "t1")
    assert (first.epoch, first.deadline) == (1, 900_000)
    turns.end_with_reply(db, first, [OutboxPart("hi")], "direct", DONE, 1)
    open_turn(db, "t2")
    before = turns.load_turn(db, "t1")
    assert turns.boot(db, 5_000_000) == 2
    adopted = turns.find_open_turn(db, KEY)
    assert adopted is not None
    assert (adopted.id, adopted.epoch, adopted.deadline) == ("t2", 2, 5_900_000)
    assert turns.load_turn(db, "t1") == before
    assert turns.boot(db, 6_000_000) == 3


def test_node_takes_over_the_turns_of_its_own_agents(db: Database) -> None:
    """A subagent's turn with that of the agent that began it, and no message of another agent."""
    turn = open_turn(db)
    with job(db):
        db.execute("UPDATE turn SET chat_key = 'subagent/home-1', id = 't0'")
        outbox.add_extra(
            db, "t0", outbox.Address("telegram", "1", "7"), [OutboxPart("a note")], "direct", 1
        )
        db.execute("UPDATE outbox SET state = 'sending'")
    left = turns.load_turn(db, "t0")
    for other in ("work", "telegram/1/7/"):
        turns.boot(db, 5, frozenset({other}))
        assert turns.load_turn(db, "t0") == left
        assert db.execute("SELECT state FROM outbox").get == "sending"
    epoch = turns.boot(db, 5, frozenset({"subagent/home-1"}))
    assert turns.load_turn(db, "t0").epoch == epoch > turn.epoch
    assert db.execute("SELECT state FROM outbox").get == "unknown"


def test_replaced_supervisor_changes_nothing(db: Database) -> None:
    """Its reply and its dead letter are refused whole (invariant 14)."""
    turn = open_turn(db)
    planned(db, "t1", "read")
    turns.boot(db, 5)
    before = everything(db)
    with pytest.raises(FencedError), job(db):
        turns.end_with_reply(db, turn, [OutboxPart("hi")], "direct", DONE, 9)
    with pytest.raises(FencedError), job(db):
        turns.end_as_dead_letter(db, turn, "crash", "Sorry.", 9)
    turns.extend_deadline(db, turn, 9)
    assert everything(db) == before


def test_reply_is_stored_whole_or_not_at_all(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outbox, turn, inbox and session change together (invariant 10)."""
    turn = open_turn(db)
    planned(db, "t1", "read")
    before = everything(db)

    def broken(*_: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(sessions, "append_messages", broken)
        with pytest.raises(RuntimeError), job(db):
            turns.end_with_reply(db, turn, [OutboxPart("hi")], "direct", DONE, 9)
    assert everything(db) == before
    with job(db):
        turns.end_with_reply(db, turn, [OutboxPart("hi")], "direct", DONE, 9)
    assert turns.load_turn(db, "t1").state == "replied"
    assert row_of(db, "t1").state == "done"
    assert [row.body for row in outbox.list_due_rows(db, "telegram")] == ["hi"]
    with pytest.raises(FencedError), job(db):
        turns.end_with_reply(db, turn, [OutboxPart("hi")], "direct", DONE, 9)


def test_session_keeps_the_turn_as_it_happened(db: Database) -> None:
    """The message, each response with the results of its calls, in the model's order."""
    turn = open_turn(db, text="time?")
    (read, mail) = planned(db, "t1", "read", "mail")
    for call in (mail, read):
        steps.mark_intent(db, "t1", call.seq, 1, 2)
        answer = ToolResult(call_id=call.call_id, name=call.name, content=call.name.upper())
        steps.finish(db, call, answer, 2)
    steps.plan(db, step("t1", content="It is noon."), CLASSES, 1, 3)
    turns.end_with_reply(db, turn, [OutboxPart("It is noon.")], "direct", DONE, 4)
    assert history(db, turn) == (
        UserMessage(content="time?"),
        step("t1", "read", "mail").response,
        ToolResult(call_id="c0", name="read", content="READ"),
        ToolResult(call_id="c1", name="mail", content="MAIL"),
        AssistantMessage(content="It is noon."),
    )


def test_session_keeps_what_was_said_when_the_model_said_nothing(db: Database) -> None:
    """The daemon's own text after an empty answer, or between tool calls."""
    turn = open_turn(db, "t1")
    steps.plan(db, step("t1", content=" \n"), CLASSES, 1, 3)
    turns.end_with_reply(
        db, turn, [OutboxPart("I have"), OutboxPart("no answer.")], "direct", DONE, 4
    )
    assert history(db, turn)[-1] == AssistantMessage(content="I have\nno answer.")
    second = open_turn(db, "t2")
    planned(db, "t2", "read")
    turns.end_with_reply(db, second, [OutboxPart("Too many steps.")], "direct", DONE, 4)
    *_, called, gave_up, said = history(db, second)
    assert isinstance(called, AssistantMessage)
    assert isinstance(gave_up, ToolResult)
    assert gave_up.is_error
    assert said == AssistantMessage(content="Too many steps.")


def test_context_is_everything_that_the_next_worker_needs(db: Database) -> None:
    """History of earlier turns, this turn's message and steps, the tools used lately."""
    first = open_turn(db, "t1", "one")
    planned(db, "t1", "read", "note")
    turns.end_with_reply(db, first, [OutboxPart("1")], "direct", DONE, 1)
    open_turn(db, "t2", "two")
    (mail,) = planned(db, "t2", "mail")
    steps.mark_intent(db, "t2", mail.seq, 1, 2)
    with job(db):
        context = turns.load_stored_turn(db, "t2", frozenset(), 50, 3)
    assert [row.text for row in context.messages] == ["two"]
    assert context.history[0] == UserMessage(content="one")
    assert context.history[-1] == AssistantMessage(content="1")
    assert context.recent_tools == ("read", "note")
    result = context.steps[0].calls[0].result
    assert result is not None
    assert "unknown_outcome" in result.content


def test_message_that_kills_its_worker_becomes_a_dead_letter(db: Database) -> None:
    """Deaths are counted, the user is told, the audit log has it, the chat goes on."""
    receive(db, update(5, "next"))
    db.execute("UPDATE inbox SET id = 50")
    turn = open_turn(db, "t1")
    planned(db, "t1", "mail")
    assert [turns.count_process_death(db, "t1") for _ in range(3)] == [1, 2, 3]
    with job(db):
        turns.end_as_dead_letter(db, turn, "signal 11", "I gave it up.", 9)
    row = row_of(db, "t1")
    assert (row.state, row.error) == ("dead", "signal 11")
    assert turns.load_turn(db, "t1").state == "dead"
    assert [item.body for item in outbox.list_due_rows(db, "telegram")] == ["I gave it up."]
    assert db.execute("SELECT state FROM step WHERE kind = 'tool'").get == "failed"
    assert "dead letter" in str(db.execute("SELECT act FROM audit").get)
    assert next_turn(db, "t2") is not None


def test_turn_closes_when_its_last_message_has_ended(db: Database) -> None:
    """Whatever became of each; a turn that has not replied stays open (T9)."""
    turn = open_turn(db)
    address = row_of(db, "t1").build_address()
    outbox.add_extra(db, "t1", address, [OutboxPart("by the way")], "direct", 1)
    (extra,) = outbox.list_due_rows(db, "telegram")
    outbox.mark_delivered(db, extra, "m1", 2)
    assert turns.load_turn(db, "t1").state == "running"
    turns.end_with_reply(
        db, turn, [OutboxPart("a"), OutboxPart("b"), OutboxPart("c")], "direct", DONE, 3
    )
    for state in ("unknown", "failed_permanent"):
        (row,) = outbox.list_due_rows(db, "telegram")
        outbox.end_row(db, row.id, state, "no", 4)
        assert turns.load_turn(db, "t1").state == "replied"
    (row,) = outbox.list_due_rows(db, "telegram")
    outbox.mark_delivered(db, row, "m2", 5)
    assert turns.load_turn(db, "t1").state == "closed"


def test_turn_with_an_empty_reply_closes_at_once(db: Database) -> None:
    """And gives up a preview that will never get a text."""
    turn = open_turn(db)
    outbox.start_preview(db, "t1", row_of(db, "t1").build_address(), OutboxPart("Let me"), 1)
    turns.end_with_reply(db, turn, [], "edit", DONE, 3)
    assert turns.load_turn(db, "t1").state == "closed"
    assert db.execute("SELECT state FROM outbox").get == "abandoned"


def test_extended_turn_has_its_whole_time_again(db: Database) -> None:
    """After a time in which it could not run."""
    turn = open_turn(db)
    turns.extend_deadline(db, turn, 1000)
    assert turns.load_turn(db, "t1").deadline == 901_000


def test_half_an_answer_is_kept_where_a_chat_is_read_in_the_journal(db: Database) -> None:
    """Of a turn that was stopped, and of no other; elsewhere its preview shows it."""
    turn = open_turn(db)
    half = ReplyPart("Let me\n\n(stopped)")
    turns.end_preview(db, turn.id, half, lambda _: outbox.STORED, 2, None)
    cancellations.cancel_turn(db, turn.chat_key, "stopped", 2)
    turns.end_preview(db, turn.id, half, lambda _: "edit", 2, None)
    turns.end_preview(db, turn.id, half, lambda _: outbox.STORED, 2, {"home"})  # of another node
    assert db.execute("SELECT count(*) FROM outbox").get == 0
    turns.end_preview(db, turn.id, half, lambda _: outbox.STORED, 2, {"work"})
    kept = db.execute("SELECT body, state, turn_id FROM outbox").fetchall()
    assert kept == [("Let me\n\n(stopped)", "delivered", turn.id)]
