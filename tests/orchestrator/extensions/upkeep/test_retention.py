"""What retention removes, and what it must leave."""

from collections.abc import Iterator
from itertools import accumulate, chain, repeat
from pathlib import Path

import pytest
from fakes.agents_file import parsed
from fakes.journal import (
    CLASSES,
    job,
    next_turn,
    open_turn,
    opened,
    planned,
    receive,
    step,
    store_in,
    update,
)
from fakes.time_limit import time_limit

from orchestrator.extensions.upkeep import retention
from orchestrator.extensions.upkeep.retention_job import MOST_ROWS, RetentionJob, remove_in_steps
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import invariants
from orchestrator.journal.turns import (
    inbox,
    outbox,
    prompt_records,
    sessions,
    steps,
    stored_files,
    subagents,
    turns,
)
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.journal.turns.outbox import OutboxPart
from orchestrator.journal.turns.prompt_records import PromptSources, SentPrompt
from orchestrator.journal.turns.subagents import SubagentRun, SubagentSpec
from orchestrator.journal.turns.turns import Turn, TurnAdmission
from thinker.protocol.prompt_record import PromptRecord

DAY = 86_400_000


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """An empty journal."""
    with opened(tmp_path) as connection:
        yield connection


def finished(db: Database, number: int, now: int) -> Turn:
    """A turn of chat 7 with a rejected call and a delivered answer, that ended at a time."""
    turn = open_turn(db, f"t{number}") if number == 1 else _following(db, number)
    with job(db):
        steps.plan(db, step(turn.id, "read", rejected="no"), CLASSES, 1, now)
        steps.plan(db, step(turn.id, content="done"), CLASSES, 1, now)
        turns.end_with_reply(db, turn, [OutboxPart("done")], "direct", ("done", None), now)
    for row in outbox.list_due_rows(db, "telegram"):
        with job(db):
            outbox.mark_sending(db, row.id, "sending", now)
            outbox.mark_delivered(db, row, "9", now)
    return turn


def _following(db: Database, number: int) -> Turn:
    receive(db, update(number))
    turn = next_turn(db, f"t{number}")
    assert turn is not None
    return turn


def count(db: Database, table: str) -> int:
    """The rows of a table."""
    return int(db.execute(f"SELECT count(*) FROM {table}").get)  # noqa: S608 - names of this file


def test_old_turn_goes_with_everything_of_it(db: Database) -> None:
    """What was said stays; the newest turn of a chat is how the agent finds it again."""
    for number, now in ((1, 10), (2, 20), (3, 30)):
        finished(db, number, now)
    with job(db):
        assert retention.delete_old_turns(db, 25) == 2
        assert retention.delete_old_turns(db, 100) == 0
    for table in ("turn", "inbox", "outbox"):
        assert count(db, table) == 1, table
    assert count(db, "step") == 3
    assert {turn for (turn,) in db.execute("SELECT DISTINCT turn_id FROM transition")} >= {"t3"}
    assert count(db, "message") == 12
    assert sessions.find_known_address(db, "work", "telegram", "7") is not None
    assert invariants.check_invariants(db) == []


def test_what_no_prompt_is_made_of_any_more_goes(db: Database) -> None:
    """With the last turn that used it."""
    first, second = PromptRecord(layers=()), PromptRecord(layers=(), tools=("look",))
    for number, record in ((1, first), (2, second), (3, second)):
        turn = finished(db, number, number)
        with job(db):
            sent = SentPrompt(turn.id, number, turn.session_id, turn.started_at)
            prompt_records.record_prompt(db, sent, record, PromptSources({"name": [*record.tools]}))
    with job(db):
        retention.delete_old_turns(db, 3)
    assert (count(db, "turn_prompt"), count(db, "prompt_part")) == (1, 2)


def test_open_and_dead_turns_stay(db: Database) -> None:
    """Whatever their age: one goes on, the other waits for the operator."""
    dead = open_turn(db)
    with job(db):
        turns.end_as_dead_letter(db, dead, "poison", "sorry", 5)
    _following(db, 2)
    with job(db):
        assert retention.delete_old_turns(db, DAY) == 0
    assert count(db, "turn") == 2


def begin_work(db: Database) -> SubagentRun:
    """Have a subagent do something for the turn t1, which does not wait for it."""
    (call,) = planned(db, "t1", "note")
    with job(db):
        steps.mark_intent(db, "t1", call.seq, 1, 1000)
        name = subagents.create(db, call, "work", SubagentSpec(), 1000)
        address = turns.load_opening_message(db, "t1").build_address()
        subagents.begin_run(db, call, name, address, "count", 1000, wait=False)
    found = subagents.find_run_of_call(db, "t1", call.seq)
    assert found is not None
    return found


def test_old_work_is_forgotten_with_the_turn_that_wanted_it(db: Database) -> None:
    """Not before the message that reports it."""
    open_turn(db)
    done, cancelled = begin_work(db), begin_work(db)
    row = inbox.find_oldest_new(db, done.queue_name)
    assert row is not None
    with job(db):
        admission = TurnAdmission("s1", "work", 1, 5, "1", "subagent")
        turn = turns.admit_message(db, row, admission, 1000)
        assert turn is not None
        turns.end_with_reply(db, turn, (), "direct", ("done", None), 1000)
        subagents.end_run(db, turn.id, "42", 1000, failed=False)
    with job(db):
        turns.end_with_reply(
            db, turns.load_turn(db, "t1"), [OutboxPart("soon")], "direct", ("done", None), 1000
        )
        db.execute(
            "UPDATE inbox SET state = 'cancelled', ended_at = 1000 WHERE id = ?",
            (cancelled.inbox_id,),
        )
        for part in outbox.list_due_rows(db, "telegram"):
            outbox.mark_sending(db, part.id, "sending", 1000)
            outbox.mark_delivered(db, part, "1", 1000)
        assert retention.delete_old_turns(db, 1000) == 0
        assert retention.delete_old_turns(db, 1001) == 1
        assert retention.delete_old_turns(db, 1001) == 0
    assert [text for (text,) in db.execute("SELECT kind FROM inbox")] == ["subagent_result"]
    assert db.execute("SELECT count(*) FROM turn").get == 0
    assert invariants.check_invariants(db) == []


def test_commands_refusals_and_notices_go_but_not_a_chats_newest(db: Database) -> None:
    """And nothing that was not sent yet."""
    finished(db, 1, 10)
    with job(db):
        refused = [Arrival(update(n, chat_id="8"), "not admitted", "no") for n in (5, 6)]
        inbox.ingest(db, refused, None, 20)
    (first, _) = [row for row in outbox.list_due_rows(db, "telegram") if row.chat_id == "8"][:1] * 2
    with job(db):
        outbox.mark_sending(db, first.id, "sending", 21)
        outbox.mark_delivered(db, first, "9", 21)
        assert retention.delete_loose_messages(db, 30) == 2
        assert retention.delete_loose_messages(db, 30) == 0
    assert [n for (n,) in db.execute("SELECT message_id FROM inbox")] == ["1", "6"]
    assert invariants.check_invariants(db) == []


def test_only_what_a_summary_or_an_end_covers_is_forgotten(db: Database) -> None:
    """The window of an open session stays, however old; an ended session goes with its turns."""
    finished(db, 1, 10)
    turn = finished(db, 2, 20)
    with job(db):
        db.execute("UPDATE session SET summary = 's', summary_upto = 4")
        assert retention.delete_old_messages(db, 100) == 4
        assert len(sessions.list_history(db, turn.session_id, 50)) == 4
        sessions.end_session(db, "work", turn.chat_key, 30)
        assert retention.delete_old_messages(db, 100) == 4
    assert count(db, "session") == 1  # its turns are still here
    assert count(db, "message_place") == 0


def test_pictures_go_by_their_age(db: Database) -> None:
    """Those that came again are young."""
    for data, now in ((b"a", 1), (b"b", 1), (b"a", 9)):
        stored_files.store_file(db, data, "image/png", now)
    assert retention.delete_old_pictures(db, 5) == 1
    assert [data for (data,) in db.execute("SELECT data FROM media")] == [b"a"]


def test_turn_saved_as_a_test_keeps_what_it_was_sent_with(db: Database) -> None:
    """Its messages and pictures, also those of the conversation from which its own goes on."""
    earlier, turn, apart = (finished(db, number, 10 * number) for number in (1, 2, 3))
    picture, other = (stored_files.store_file(db, data, "image/png", 1) for data in (b"a", b"b"))
    with job(db):
        sessions.end_session(db, "work", turn.chat_key, 40)
        later = db.execute(
            "INSERT INTO session(agent_id, chat_key, started_at, parent_id, parent_upto)"
            " VALUES('work', 'fork', 50, ?, 8) RETURNING id",
            (turn.session_id,),
        ).get
        db.execute("UPDATE turn SET session_id = ? WHERE id = ?", (later, turn.id))
        ids = [one for (one,) in db.execute("SELECT id FROM message ORDER BY id")]
        db.execute(
            "UPDATE message SET body = replace(body, '}', ?) WHERE id = ?",
            (f',"ref":"{picture}"}}', ids[1]),
        )
        prompt = PromptRecord(layers=())
        sent = SentPrompt(turn.id, 20, int(later), 20)
        window = PromptSources(window=(ids[1], ids[3]))
        prompt_records.record_prompt(db, sent, prompt, window)
        db.execute(
            "INSERT INTO saved_turn VALUES('daily', ?, 'same calls', 'operator', 1)", (turn.id,)
        )
        assert retention.delete_old_messages(db, 100) == len(ids) - 3
        assert retention.delete_old_pictures(db, 100) == 1
        assert retention.delete_old_turns(db, 100) == 1
    assert [one for (one,) in db.execute("SELECT id FROM media")] == [picture]
    assert [one for (one,) in db.execute("SELECT id FROM message ORDER BY id")] == ids[1:4]
    assert other != picture
    assert (earlier.id, apart.id) == ("t1", "t3")


def test_trials_go_with_their_turns_when_they_are_old(db: Database) -> None:
    """One that runs stays, however long it takes."""
    for number, state in enumerate(("done", "stopped", "running", "done"), 1):
        db.execute(
            "INSERT INTO trial(id, kind, agent_id, change, by_user, state, made_at)"
            " VALUES(?,'replay','work','{}','operator',?,?)",
            (number, state, 9 if number == 4 else 1),
        )
        db.execute(
            "INSERT INTO trial_turn(trial_id, turn_id, nth, state) VALUES(?,'t1',1,'done')",
            (number,),
        )
    assert retention.delete_old_trials(db, 5) == 2
    assert retention.delete_old_trials(db, 5) == 0
    assert [one for (one,) in db.execute("SELECT id FROM trial ORDER BY id")] == [3, 4]
    assert count(db, "trial_turn") == 2


def test_logins_and_invites_go_when_they_have_ended(db: Database) -> None:
    """Whoever had one logs in again."""
    for digest, ends in (("a", 5), ("b", 9)):
        db.execute(
            'INSERT INTO web_session(digest, "user", role, made_at, last_at, ends_at)'
            " VALUES(?,'ann','chat',1,1,?)",
            (digest, ends),
        )
        db.execute("INSERT INTO web_invite VALUES(?,'ann','chat',NULL,?,NULL)", (digest, ends))
    assert retention.delete_ended_logins(db, 9) == 2
    assert retention.delete_ended_logins(db, 9) == 0
    assert (count(db, "web_session"), count(db, "web_invite")) == (1, 1)


def test_ended_approvals_that_stood_are_removed(db: Database) -> None:
    """Those that still stand are kept, however old they are."""
    for ends in (8, 9, 100):
        db.execute(
            "INSERT INTO standing_approval(agent_id, tool, arguments, by_user, made_at, ends_at)"
            " VALUES('work','pay','{}','operator',1,?)",
            (ends,),
        )
    assert retention.delete_ended_rules(db, 9) == 1
    assert retention.delete_ended_rules(db, 9) == 0
    assert count(db, "standing_approval") == 2


async def test_sweep_goes_by_the_days_of_the_configuration(db: Database, tmp_path: Path) -> None:
    """In small transactions, until nothing old is left."""
    for number in range(1, 4):
        finished(db, number, number * DAY)
    loaded = parsed({"agentId": "work", "model": "m"}, retention={"turnDays": 7})
    store = store_in(tmp_path)
    try:
        with time_limit():
            await RetentionJob(
                store, lambda: loaded.file, lambda: round(9.5 * DAY)
            ).remove_old_data()
    finally:
        store.close()
    assert [turn for (turn,) in db.execute("SELECT id FROM turn")] == ["t3"]
    assert count(db, "message") == 12


async def test_steps_grow_while_they_are_quick_and_shrink_behind_messages(tmp_path: Path) -> None:
    """It holds the writer for some ms; nothing is left over."""
    left, limits = [2000], list[int]()
    seconds = chain((0.001,) * 5, (0.04, 0.04), (1.0,) * 2, repeat(0.001))
    clock = accumulate(chain.from_iterable((0.0, taken) for taken in seconds))

    def remove(_: Database, __: int, limit: int) -> int:
        limits.append(limit)
        removed = min(limit, left[0])
        left[0] -= removed
        return removed

    store = store_in(tmp_path)
    try:
        with time_limit():
            assert await remove_in_steps(store, remove, 0, clock.__next__) == 2000
    finally:
        store.close()
    assert limits[:11] == [10, 20, 40, 80, 160, 320, 160, 80, 10, 10, 20]
    assert max(limits) == MOST_ROWS
