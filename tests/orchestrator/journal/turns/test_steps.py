"""T3, T4, T5 and what recovery makes of calls that were cut off."""

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from fakes.journal import CLASSES, call, job, open_turn, opened, planned, step
from fakes.memory import WORK, insert_fact

from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import FencedError
from orchestrator.journal.memory import facts
from orchestrator.journal.turns import outbox, prompt_records, sessions, steps, turns
from orchestrator.journal.turns.steps import Call
from thinker.protocol.call_timing import CallTiming
from thinker.protocol.messages import LayerRecord, SideEffect, ToolResult, Usage
from thinker.protocol.prompt_record import PromptRecord

ALL = ("read", "note", "pay", "check", "mail")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal with the open turn t1."""
    with opened(tmp_path) as connection:
        open_turn(connection)
        yield connection


def result(call: Call, content: str = "ok", *, is_error: bool = False) -> ToolResult:
    """What a tool answered."""
    return ToolResult(call_id=call.call_id, name=call.name, content=content, is_error=is_error)


def states(db: Database) -> dict[str, str]:
    """The state of every tool call by its tool."""
    rows = db.execute("SELECT name, state FROM step WHERE kind = 'tool' ORDER BY seq")
    return {str(name): str(state) for name, state in rows}


def test_steps_are_numbered_through_the_turn(db: Database) -> None:
    """A response and the calls in it take the next numbers, in its order."""
    first = steps.plan(db, step("t1", "read", "mail"), CLASSES, 1, 1)
    second = steps.plan(db, step("t1", content="done"), CLASSES, 1, 2)
    assert (first.seq, first.call_seqs) == (1, (2, 3))
    assert (second.seq, second.call_seqs) == (4, ())
    mail = call(db, "t1", 3)
    assert (mail.state, mail.side_effect, mail.idem_key, mail.arguments, mail.call_id) == (
        "planned",
        SideEffect.NON_IDEMPOTENT,
        "t1:3",
        {"n": 1},
        "c1",
    )
    assert steps.find_call(db, "t1", 1) is None  # a model response is no call
    assert steps.find_call(db, "t1", 9) is None


def test_response_is_stored_with_the_timing_of_its_call(db: Database) -> None:
    """Without one if it was not measured; a tool call has none."""
    timing = CallTiming(began=5, ended=9, first=7, sent=100, got=20)
    steps.plan(db, step("t1", "read").model_copy(update={"timing": timing}), CLASSES, 1, 1)
    steps.plan(db, step("t1", content="done"), CLASSES, 1, 2)
    (first, *others) = [text for (text,) in db.execute("SELECT timing FROM step ORDER BY seq")]
    assert CallTiming.model_validate_json(first) == timing
    assert others == [None, None]


def test_rejected_call_has_ended_when_it_is_planned(db: Database) -> None:
    """It never runs, and no row is left without an end (invariant 8)."""
    committed = steps.plan(db, step("t1", "read", rejected="no such tool"), CLASSES, 1, 1)
    rejected = call(db, "t1", committed.call_seqs[0])
    assert rejected.state == "failed"
    assert rejected.result == result(rejected, "no such tool", is_error=True)
    with pytest.raises(FencedError):
        steps.mark_intent(db, "t1", rejected.seq, 1, 2)


def test_stale_epoch_and_closed_turn_change_nothing(db: Database) -> None:
    """T3 and T4 of a supervisor that was replaced (invariants 7 and 14)."""
    (read,) = planned(db, "t1", "read")
    before = db.execute("SELECT * FROM step").fetchall()
    turns.boot(db, 5)
    for stale in (
        lambda: steps.plan(db, step("t1", "mail"), CLASSES, 1, 9),
        lambda: steps.mark_intent(db, "t1", read.seq, 1, 9),
        lambda: steps.finish(db, read, result(read), 9),
        lambda: steps.finish_local(db, read, lambda _: result(read), 1, 9),
    ):
        with pytest.raises(FencedError):
            stale()
    assert db.execute("SELECT * FROM step").fetchall() == before
    db.execute("UPDATE turn SET state = 'replied'")
    with pytest.raises(FencedError):
        steps.plan(db, step("t1"), CLASSES, 2, 9)


def test_call_is_dispatched_once_and_its_result_never_changes(db: Database) -> None:
    """A second T4 and a second T5 are refused (invariant 5)."""
    (mail,) = planned(db, "t1", "mail")
    steps.mark_intent(db, "t1", mail.seq, 1, 2)
    with pytest.raises(FencedError, match="not waiting"):
        steps.mark_intent(db, "t1", mail.seq, 1, 2)
    steps.finish(db, mail, result(mail, "sent"), 3)
    for late in (result(mail, "again"), result(mail, "failed", is_error=True)):
        with pytest.raises(FencedError, match="already ended"):
            steps.finish(db, mail, late, 4)
    stored = call(db, "t1", mail.seq)
    assert (stored.state, stored.result) == ("done", result(mail, "sent"))


def test_local_effect_is_committed_with_its_result_or_not_at_all(db: Database) -> None:
    """A fact is never stored twice or without its answer; a failed effect may be tried again."""
    (note,) = planned(db, "t1", "note")

    def effect(db: Database) -> ToolResult:
        insert_fact(db, WORK, "likes tea", 2)
        return result(note)

    def broken(db: Database) -> ToolResult:
        effect(db)
        raise RuntimeError

    with pytest.raises(RuntimeError), job(db):
        steps.finish_local(db, note, broken, 1, 2)
    assert (states(db), facts.rank_facts(db, WORK, "tea", 5)) == (
        {"note": "planned"},
        [],
    )
    with job(db):
        steps.finish_local(db, note, effect, 1, 2)
    assert states(db) == {"note": "done"}
    assert len(facts.rank_facts(db, WORK, "tea", 5)) == 1
    with pytest.raises(FencedError):
        steps.finish_local(db, note, effect, 1, 3)


def test_recovery_runs_again_only_what_may_run_again(db: Database) -> None:
    """The model reads that the others are unknown; a second recovery changes nothing."""
    calls = planned(db, "t1", *ALL)
    for one in calls:
        steps.mark_intent(db, "t1", one.seq, 1, 2)
    with job(db):
        steps.recover_calls(db, "t1", frozenset(), 3)
    expected = dict.fromkeys(("read", "note", "pay"), "planned") | dict.fromkeys(
        ("check", "mail"), "unknown"
    )
    assert states(db) == expected
    told = call(db, "t1", calls[4].seq).result
    assert told is not None
    assert told.is_error
    assert orjson.loads(told.content)["status"] == "unknown_outcome"
    assert call(db, "t1", calls[2].seq).idem_key == calls[2].idem_key
    before = db.execute("SELECT * FROM step").fetchall()
    steps.recover_calls(db, "t1", frozenset(), 4)
    assert db.execute("SELECT * FROM step").fetchall() == before
    assert steps.list_unconfirmed_tools(db, "t1") == ["check", "mail"]


def test_recovery_leaves_alone_what_this_process_still_runs(db: Database) -> None:
    """The worker died, its tool call did not: the next worker gets the result."""
    (mail, read) = planned(db, "t1", "mail", "read")
    steps.mark_intent(db, "t1", mail.seq, 1, 2)
    steps.mark_intent(db, "t1", read.seq, 1, 2)
    steps.recover_calls(db, "t1", frozenset({mail.seq}), 3)
    assert states(db) == {"mail": "intent", "read": "planned"}
    steps.finish(db, mail, result(mail), 4)
    assert states(db)["mail"] == "done"


def test_call_dispatched_under_an_older_epoch_may_run_again_under_a_new_one(
    db: Database,
) -> None:
    """The late result of the old process is refused, that of the new one stored."""
    (read,) = planned(db, "t1", "read")
    steps.mark_intent(db, "t1", read.seq, 1, 2)
    turns.boot(db, 3)
    steps.recover_calls(db, "t1", frozenset(), 3)
    again = call(db, "t1", read.seq)
    steps.mark_intent(db, "t1", read.seq, 2, 4)
    with pytest.raises(FencedError):
        steps.finish(db, read, result(read, "old"), 5)
    steps.finish(db, again, result(again, "new"), 5)
    assert call(db, "t1", read.seq).result == result(read, "new")


def test_every_call_has_ended_when_the_turn_ends(db: Database) -> None:
    """What never ran failed; what was dispatched and may have happened is unknown."""
    calls = planned(db, "t1", *ALL, "other")
    for one in calls[:-1]:
        steps.mark_intent(db, "t1", one.seq, 1, 2)
    assert steps.list_unconfirmed_tools(db, "t1") == ["pay", "check", "mail"]
    with job(db):
        turns.end_with_reply(
            db, turns.load_turn(db, "t1"), [outbox.OutboxPart("sorry")], "direct", ("done", None), 3
        )
    failed = dict.fromkeys(("read", "note", "other"), "failed")
    assert states(db) == failed | dict.fromkeys(("pay", "check", "mail"), "unknown")
    assert steps.list_unconfirmed_tools(db, "t1") == ["pay", "check", "mail"]


def test_recorded_steps_keep_their_order_and_pair_results_with_calls(db: Database) -> None:
    """Verbatim responses; a call without a result is left to run."""
    first = step("t1", "read", "mail", content="Let me see.").model_copy(
        update={"usage": Usage(prompt=7, completion=3), "finish": "length"}
    )
    steps.plan(db, first, CLASSES, 1, 1)
    steps.plan(db, step("t1", "note"), CLASSES, 1, 2)
    mail = call(db, "t1", 3)
    steps.mark_intent(db, "t1", 3, 1, 2)
    steps.finish(db, mail, result(mail, "sent"), 3)
    one, two = sessions.load_transcript(db, "t1").steps
    assert (one.seq, one.response, one.usage, one.finish) == (
        1,
        first.response,
        first.usage,
        "length",
    )
    assert [(c.seq, c.result) for c in one.calls] == [(2, None), (3, result(mail, "sent"))]
    assert [(c.seq, c.result) for c in two.calls] == [(5, None)]
    assert sessions.load_transcript(db, "t2").steps == ()
    assert steps.list_tool_names(db, "t1") == ("read", "mail", "note")


def test_prompt_of_a_process_is_kept_with_its_first_step(db: Database) -> None:
    """So that it can be shown later what the model saw."""
    prompt = PromptRecord(layers=(LayerRecord(name="base", text="Be brief."),), tools=("read",))
    steps.plan(db, step("t1").model_copy(update={"prompt": prompt}), CLASSES, 1, 1)
    steps.plan(db, step("t1"), CLASSES, 1, 2)
    assert prompt_records.list_prompts_of_turn(db, "t1") == [(1, prompt)]
