"""Work of subagents in the journal: begun once, ended once, told once, stopped with its parent."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import REFUSED, job, open_turn, opened, planned

from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import invariants
from orchestrator.journal.turns import (
    cancellations,
    deadletters,
    inbox,
    outbox,
    steps,
    subagents,
    turns,
)
from orchestrator.journal.turns.outbox import OutboxPart
from orchestrator.journal.turns.steps import Call
from orchestrator.journal.turns.subagents import SubagentRun, SubagentSpec
from orchestrator.journal.turns.turns import Turn, TurnAdmission
from thinker.protocol.messages import ToolResult

NOW = 1_000


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal with the open turn t1 of the agent ``work`` in chat 7."""
    with opened(tmp_path) as connection:
        open_turn(connection)
        yield connection


def begun(db: Database, *, wait: bool = True, turn: str = "t1") -> Call:
    """A call of a turn that has a subagent do something."""
    (call,) = planned(db, turn, "note")
    with job(db):
        steps.mark_intent(db, turn, call.seq, 1, NOW)
        name = subagents.create(db, call, "work", SubagentSpec(), NOW)
        address = turns.load_opening_message(db, turn).build_address()
        subagents.begin_run(db, call, name, address, "count", NOW, wait=wait)
    return call


def admitted(db: Database, call: Call, turn_id: str = "s1") -> Turn:
    """T2 of the work of a call."""
    row = inbox.find_oldest_new(db, run(db, call).queue_name)
    assert row is not None
    with job(db):
        turn = turns.admit_message(
            db, row, TurnAdmission(turn_id, "work", 1, 5, "1", "subagent"), NOW
        )
    assert turn is not None
    return turn


def run(db: Database, call: Call) -> SubagentRun:
    """The work of a call."""
    found = subagents.find_run_of_call(db, call.turn_id, call.seq)
    assert found is not None
    return found


def replied(db: Database, turn: Turn, text: str = "42", *, failed: bool = False) -> None:
    """T6 of a subagent's turn."""
    with job(db):
        turns.end_with_reply(db, turn, (), "direct", ("done", None), NOW)
        subagents.end_run(db, turn.id, text, NOW, failed=failed)


def test_work_is_in_a_line_of_its_own_and_goes_to_its_chat(db: Database) -> None:
    """The chat's own line does not wait for it; an approval would be asked in the chat."""
    call = begun(db)
    work = run(db, call)
    assert work.subagent_id == "work-sub-t1-2"
    assert inbox.list_chats_with_work(db) == {"telegram/1/7/": False, work.queue_name: True}
    turn = admitted(db, call)
    origin = turns.load_opening_message(db, turn.id)
    assert (origin.text, origin.is_internal) == ("count", True)
    assert origin.build_address().chat_key == "telegram/1/7/"
    assert not run(db, call).has_ended
    assert subagents.count_open_runs(db, "work") == 1
    assert invariants.check_invariants(db) == []


def test_call_can_begin_its_work_once(db: Database) -> None:
    """The journal itself refuses a second time, and keeps nothing of it."""
    call = begun(db)
    with pytest.raises(REFUSED), job(db):
        subagents.create(db, call, "work", SubagentSpec(), NOW)
    address, name = turns.load_opening_message(db, "t1").build_address(), run(db, call).subagent_id
    with pytest.raises(REFUSED), job(db):
        subagents.begin_run(db, call, name, address, "x", NOW, wait=True)
    assert len(subagents.list_open_runs_of_turn(db, "t1")) == 1


def test_result_of_awaited_work_stays_with_its_call(db: Database) -> None:
    """No message, no dead letter, no outbox row."""
    call = begun(db)
    replied(db, admitted(db, call))
    work = run(db, call)
    assert (work.has_ended, work.result, work.failed) == (True, "42", False)
    assert subagents.count_open_runs(db, "work") == 0
    assert db.execute("SELECT count(*) FROM inbox").get == 2
    assert db.execute("SELECT count(*) FROM outbox").get == 0
    assert invariants.check_invariants(db) == []


@pytest.mark.parametrize(
    ("failed", "words"), [(False, "returned the following result"), (True, "reported a failure")]
)
def test_result_of_other_work_is_a_message_in_its_chat(
    db: Database, words: str, *, failed: bool
) -> None:
    """In the same transaction, for the agent that wanted it."""
    call = begun(db, wait=False)
    with job(db):
        turns.end_with_reply(
            db, turns.load_turn(db, "t1"), [OutboxPart("started")], "direct", ("done", None), NOW
        )
    replied(db, admitted(db, call), failed=failed)
    row = inbox.find_oldest_new(db, "telegram/1/7/")
    assert row is not None
    assert (row.kind, row.target, row.is_internal) == (inbox.RESULT, "work", True)
    assert row.text == f"Subagent (reference: work-sub-t1-2) has {words}:\n\n42"


def test_message_with_a_long_result_is_shortened_and_the_result_kept_whole(
    db: Database,
) -> None:
    """What a turn costs does not depend on how much a subagent says."""
    call, said = begun(db, wait=False), "x" * (subagents.REPORTED + 1)
    with job(db):
        turns.end_with_reply(
            db, turns.load_turn(db, "t1"), [OutboxPart("started")], "direct", ("done", None), NOW
        )
        subagents.end_run(db, admitted(db, call).id, said, NOW, failed=False)
    row = inbox.find_oldest_new(db, "telegram/1/7/")
    assert row is not None
    assert row.text.endswith(f"x\n[shortened: the result has {len(said)} characters]")
    assert row.text.count("x") == subagents.REPORTED
    assert run(db, call).result == said


def test_stopped_turn_takes_its_work_along(db: Database) -> None:
    """Begun or not; their turns are found as cancelled."""
    call = begun(db)
    admitted(db, call)
    other = begun(db, wait=False)
    with job(db):
        assert cancellations.cancel_turn(db, "telegram/1/7/", "stopped", NOW) == "t1"
    assert [run(db, item).state for item in (call, other)] == ["cancelled", "cancelled"]
    assert run(db, call).error == "stopped"
    assert sorted(cancellations.list_cancelled_turns(db, ["t1", "s1", "x"])) == ["s1", "t1"]
    assert inbox.list_chats_with_work(db) == {}
    assert invariants.check_invariants(db) == []


def test_turn_that_ends_stops_only_what_it_waits_for(db: Database) -> None:
    """What was to go on in the background goes on, until the chat is stopped."""
    awaited, other = begun(db), begun(db, wait=False)
    with job(db):
        cancellations.cancel_awaited_subagents(db, "t1", NOW)
    assert [run(db, item).state for item in (awaited, other)] == ["cancelled", "new"]
    with job(db):
        turns.end_with_reply(
            db, turns.load_turn(db, "t1"), [OutboxPart("hi")], "direct", ("done", None), NOW
        )
        assert cancellations.cancel_chat_work(db, "telegram/1/8/", "stopped", NOW) is None
        assert cancellations.cancel_chat_work(db, "telegram/1/7/", "stopped", NOW) == []
        assert cancellations.cancel_chat_work(db, "telegram/1/7/", "stopped", NOW) is None
    assert run(db, other).state == "cancelled"


@pytest.mark.parametrize("wait", [True, False])
def test_what_a_subagent_may_have_done_is_told_by_whoever_answers(
    db: Database, *, wait: bool
) -> None:
    """The turn that waited for it, or the one that has its result as a message."""
    call = begun(db, wait=wait)
    turn = admitted(db, call)
    (order,) = planned(db, turn.id, "order")
    with job(db):
        steps.mark_intent(db, turn.id, order.seq, 1, NOW)
        steps.recover_calls(db, turn.id, frozenset(), NOW)
    replied(db, turn)
    assert subagents.list_unconfirmed_tools_of_runs(db, turn.id) == ["order"]
    assert subagents.list_unconfirmed_tools_of_runs(db, "t1") == (["order"] if wait else [])
    with job(db):
        turns.end_with_reply(
            db, turns.load_turn(db, "t1"), [OutboxPart("hi")], "direct", ("done", None), NOW
        )
        row = inbox.find_oldest_new(db, "telegram/1/7/")
        if row is not None:
            turns.admit_message(db, row, TurnAdmission("t2", "work", 1, 5, "1"), NOW)
    assert subagents.list_unconfirmed_tools_of_runs(db, "t2") == ([] if wait else ["order"])


def test_dead_work_is_nobodys_dead_letter(db: Database) -> None:
    """Put back, it would run for a call that has its result."""
    call = begun(db)
    turn = admitted(db, call)
    with job(db):
        turns.end_as_dead_letter(db, turn, "signal 11", None, NOW)
        subagents.end_run(db, turn.id, "it died", NOW, failed=True)
    assert (run(db, call).state, run(db, call).failed) == ("dead", True)
    assert deadletters.list_dead_letters(db) == []
    assert invariants.check_invariants(db) == []


def test_work_without_a_result_is_a_violation(db: Database) -> None:
    """As are a call that ended before its work, and a result without a report."""
    call = begun(db)
    turn = admitted(db, call)
    with job(db):
        result = ToolResult(call_id=call.call_id, name=call.name, content="?")
        steps.finish(db, call, result, NOW)
    assert "still works" in " ".join(invariants.check_invariants(db))
    with job(db):
        turns.end_with_reply(db, turn, (), "direct", ("done", None), NOW)
    assert "is closed without a result" in " ".join(invariants.check_invariants(db))
    with job(db):
        db.execute("UPDATE subagent_run SET result = '42', wait = 0")
    assert "a result and no report" in " ".join(invariants.check_invariants(db))


def test_subagent_works_with_the_memory_of_its_parents_turn(db: Database) -> None:
    """Whatever chat the result goes to: a task has a memory of its own."""
    with job(db):
        db.execute("UPDATE turn SET scope = 'telegram:99' WHERE id = 't1'")
    turn = admitted(db, begun(db))
    assert turn.scope == "telegram:99"
    assert db.execute("SELECT scope FROM session WHERE id = ?", (turn.session_id,)).get == (
        "telegram:99"
    )


def test_messages_of_a_subagent_count_with_those_of_its_parent(db: Database) -> None:
    """In either's turn; the reply of a turn does not count."""
    turn = admitted(db, begun(db))
    address = turns.load_opening_message(db, "t1").build_address()
    with job(db):
        outbox.add_extra(db, "t1", address, [OutboxPart("one")], "direct", NOW)
        outbox.add_extra(
            db, turn.id, address, [OutboxPart("two"), OutboxPart("three")], "direct", NOW
        )
        assert [outbox.count_extras(db, name) for name in ("t1", turn.id)] == [3, 3]
        turns.end_with_reply(
            db, turns.load_turn(db, "t1"), [OutboxPart("re")], "direct", ("done", None), NOW + 1
        )
        assert outbox.count_extras(db, turn.id) == 3
