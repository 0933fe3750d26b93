"""Runs of tasks in the journal: fired once, whatever is killed; missed, failed, told."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import job, open_turn, opened
from fakes.memory import WORK, own_of

from orchestrator.extensions.schedules import task_firing
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import invariants
from orchestrator.journal.schedule import task_runs, tasks
from orchestrator.journal.schedule.tasks import Task
from orchestrator.journal.turns import inbox, outbox, steps, turns
from orchestrator.journal.turns.outbox import OutboxPart
from orchestrator.journal.turns.turns import TurnAdmission
from orchestrator.schedules.specs import Notify, TaskSpec
from thinker.protocol.messages import AssistantMessage
from thinker.protocol.methods import StepCommit

MINUTE, DAY = 60_000, 86_400_000
START = 1_770_897_600_000  # 2026-02-12 12:00 UTC
MORNING = START + 21 * 3_600_000  # 09:00 on the day after
CHAT = Notify(channel="telegram", chat_id="7")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal in which the agent ``work`` knows the Telegram chat 7; the epoch is 1."""
    with opened(tmp_path) as connection:
        turn = open_turn(connection)
        with job(connection):
            turns.end_with_reply(connection, turn, [OutboxPart("hi")], "direct", ("done", None), 1)
            for row in outbox.list_due_rows(connection, "telegram"):
                outbox.mark_delivered(connection, row, "1", 1)
        yield connection


def daily(db: Database, **fields: object) -> Task:
    """A task at nine every morning, made at noon the day before."""
    given = {
        "name": "brief",
        "instructions": "What is on?",
        "trigger": {"schedule": "0 9 * * *"},
        "timezone": "UTC",
        "notify": CHAT,
        **fields,
    }
    with job(db):
        return tasks.add_task(db, WORK, TaskSpec.model_validate(given), START)


def states(db: Database, task: Task) -> list[tuple[int, str]]:
    """When each run was due and what became of it, the oldest first."""
    found = task_runs.list_task_runs(db, task.id, 1000)
    return [(run.scheduled_at, run.state) for run in reversed(found)]


def fire(db: Database, now: int) -> list[int]:
    """What a look at the clock fires."""
    with job(db):
        return [
            task
            for task in task_firing.list_due_tasks(db, now)
            if task_firing.fire_task(db, task, now)
        ]


def end(db: Database, now: int, error: str | None = None, epoch: int = 1) -> str:
    """The turn of the run that waits, to its end; its id."""
    with job(db):
        (queue,) = inbox.list_chats_with_work(db)
        turn = turns.find_open_turn(db, queue)
        if turn is None:
            row = inbox.find_oldest_new(db, queue)
            assert row is not None
            admission = TurnAdmission(f"turn-{now}", "work", epoch, 15, "1", "proactive")
            turn = turns.admit_message(db, row, admission, now)
        assert turn is not None
        said = StepCommit(turn_id=turn.id, response=AssistantMessage(content="all quiet"))
        steps.plan(db, said, {}, epoch, now)
        stop = "done" if error is None else "model_error"
        turns.end_with_reply(db, turn, [OutboxPart("all quiet")], "direct", (stop, error), now)
        for channel in ("telegram", "console"):
            for row_out in outbox.list_due_rows(db, channel):
                outbox.mark_delivered(db, row_out, "1", now)
        assert task_firing.settle_ended_runs(db, now)
        assert not task_firing.settle_ended_runs(db, now)
    return turn.id


def test_firing_is_one_inbox_row_and_the_next_instant(db: Database) -> None:
    """In its own queue, for its own agent, with the notify chat as its address."""
    task = daily(db)
    assert task.next_at == task_firing.find_next_due_time(db) == MORNING
    assert fire(db, MORNING - 1) == []
    assert fire(db, MORNING + 5) == [task.id]
    row = inbox.find_oldest_new(db, f"task/work/{task.id}")
    assert row is not None
    assert (row.kind, row.target, row.text) == ("task", "work", "What is on?")
    assert row.build_address() == outbox.Address("telegram", "1", "7")
    assert states(db, task) == [(MORNING, "due")]
    assert task_firing.find_next_due_time(db) == MORNING + DAY
    assert fire(db, MORNING + 5) == []


def test_killed_between_firing_and_running_it_runs_once(tmp_path: Path) -> None:
    """The next process finds the row, and its run; nothing is fired again."""
    with opened(tmp_path) as db:
        with job(db):
            turns.boot(db, 0)
        task = daily(db)
        fire(db, MORNING)
    with opened(tmp_path) as again:
        with job(again):
            turns.boot(again, MORNING + 10)
        assert fire(again, MORNING + 20) == []
        end(again, MORNING + 30, epoch=2)
        assert states(again, task) == [(MORNING, "ran")]
        assert invariants.check_invariants(again) == []


def test_end_of_a_run_is_read_from_its_turn(db: Database) -> None:
    """What T6 wrote is enough: it may be noted by a later process."""
    task = daily(db)
    fire(db, MORNING)
    turn_id = end(db, MORNING + 10)
    (run,) = task_runs.list_task_runs(db, task.id, 1)
    assert (run.state, run.result, run.turn_id) == ("ran", "all quiet", turn_id)
    assert task_firing.load_task_of_turn(db, turn_id) == tasks.load_task(db, task.id)
    assert invariants.check_invariants(db) == []


def test_task_is_no_part_of_the_chats_session(db: Database) -> None:
    """Its instructions must not come back as something the user said."""
    before = db.execute("SELECT count(*) FROM message").get
    daily(db)
    fire(db, MORNING)
    end(db, MORNING)
    assert db.execute("SELECT count(*) FROM message").get == before
    assert outbox.list_texts_of_turn(db, f"turn-{MORNING}") == ("all quiet",)


@pytest.mark.parametrize(
    ("misfire", "expected"),
    [
        ({"misfire": "skip"}, ["skipped", "skipped", "skipped"]),
        ({"misfire": "latest"}, ["missed", "missed", "ran"]),
        ({"misfire": "all", "misfire_limit": 2}, ["missed", "ran", "ran"]),
        ({"misfire": "all", "misfire_limit": 5}, ["ran", "ran", "ran"]),
        ({"misfire": "all", "misfire_window_minutes": 1440}, ["missed", "missed", "ran"]),
    ],
)
def test_three_days_of_downtime_end_as_the_policy_says(
    db: Database, misfire: dict[str, object], expected: list[str]
) -> None:
    """Each instant has its row; what runs, runs one after another; the next is tomorrow's."""
    task = daily(db, **misfire)
    back = MORNING + 2 * DAY + 3_600_000
    fire(db, back)
    for number in range(expected.count("ran")):
        end(db, back + number)
    assert states(db, task) == [(MORNING + n * DAY, state) for n, state in enumerate(expected)]
    assert task_firing.find_next_due_time(db) == MORNING + 3 * DAY


def test_long_downtime_of_a_frequent_task_is_noted_in_short(db: Database) -> None:
    """A hundred instants and one that stands for those before them."""
    task = daily(db, trigger={"interval_minutes": 1})
    fire(db, START + 30 * DAY)
    found = states(db, task)
    assert len(found) == 101
    assert found[0] == (START, "missed")
    assert found[-1] == (START + 30 * DAY, "due")


def test_failures_back_off_and_the_fifth_switches_off(db: Database) -> None:
    """1, 5, 15 and 60 minutes; what comes meanwhile is skipped; the chat is told."""
    task = daily(db, trigger={"interval_minutes": 1})
    now = START
    for failures, minutes in enumerate((1, 5, 15, 60, None), 1):
        fire(db, now)
        end(db, now, "no model")
        found = tasks.load_task(db, task.id)
        assert found.failures == failures
        if minutes is None:
            break
        assert found.not_before == now + minutes * MINUTE
        for minute in range(1, minutes):
            assert fire(db, now + minute * MINUTE) == []
        now += minutes * MINUTE
    assert found.state == "disabled"
    assert found.note == "failed 5 times in a row: no model"
    assert task_firing.list_due_tasks(db, now + DAY) == []
    notice = outbox.list_due_rows(db, "telegram")[-1].body
    assert notice.endswith(f"orchestrator tasks enable {task.id}")
    with job(db):
        tasks.enable_task(db, task.id, now)
    assert tasks.load_task(db, task.id).failures == 0


def test_success_forgets_failures(db: Database) -> None:
    """Only failures in a row count."""
    task = daily(db)
    for day, error in enumerate(("no model", None)):
        fire(db, MORNING + day * DAY)
        end(db, MORNING + day * DAY, error)
    assert states(db, task) == [(MORNING, "failed"), (MORNING + DAY, "ran")]
    found = tasks.load_task(db, task.id)
    assert (found.failures, found.not_before) == (0, 0)


def test_one_shot_is_done_before_it_runs_and_never_runs_again(db: Database) -> None:
    """Not even after it failed."""
    task = daily(db, trigger={"at": "2026-02-13T09:00Z"})
    fire(db, MORNING)
    assert tasks.load_task(db, task.id).state == "done"
    end(db, MORNING, "no model")
    assert states(db, task) == [(MORNING, "failed")]
    assert (fire(db, MORNING + DAY), tasks.load_task(db, task.id).state) == ([], "done")


def test_task_that_still_runs_is_not_started_again(db: Database) -> None:
    """The instant is skipped, and says why."""
    task = daily(db)
    fire(db, MORNING)
    assert fire(db, MORNING + DAY) == []
    run = task_runs.list_task_runs(db, task.id, 1)[0]
    assert (run.state, run.note) == ("skipped", "the previous run has not ended")


def test_clock_that_goes_back_and_forth_fires_nothing_twice(db: Database) -> None:
    """An hour back, a year on and back again (F29)."""
    task = daily(db)
    fire(db, MORNING)
    end(db, MORNING)
    for share, due in (({"home"}, MORNING + DAY), (None, MORNING)):  # one node fires a task
        with job(db):
            task_firing.realign_tasks(db, MORNING - 3_600_000, share)
        assert task_firing.find_next_due_time(db) == due
    assert [number for number, state in states(db, task)] == [MORNING]
    fire(db, MORNING + 1)
    assert states(db, task) == [(MORNING, "ran")]
    fire(db, MORNING + 365 * DAY)
    end(db, MORNING + 365 * DAY)
    with job(db):
        task_firing.realign_tasks(db, MORNING + 3_600_000)
    assert task_firing.find_next_due_time(db) == MORNING + DAY


def test_task_without_a_chat_keeps_its_outcome(db: Database) -> None:
    """So does one whose chat has never written to its agent."""
    for name, notify in (("none", None), ("stranger", Notify(channel="telegram", chat_id="8"))):
        task = daily(db, name=name, notify=notify)
        with job(db):
            task_runs.run_task_now(db, task.id, MORNING)
        row = inbox.find_oldest_new(db, f"task/work/{task.id}")
        assert row is not None
        assert (row.channel, row.chat_id) == ("console", f"task-{task.id}")
        end(db, MORNING + task.id)
        assert task_runs.list_task_runs(db, task.id, 1)[0].result == "all quiet"
        assert invariants.check_invariants(db) == []


def test_run_that_was_refused_or_given_up_has_failed(db: Database) -> None:
    """Its agent is gone, say."""
    task = daily(db)
    fire(db, MORNING)
    row = inbox.find_oldest_new(db, f"task/work/{task.id}")
    assert row is not None
    with job(db):
        inbox.refuse_message(db, row, "unknown agent", None, MORNING)
        task_firing.settle_ended_runs(db, MORNING)
    (run,) = task_runs.list_task_runs(db, task.id, 1)
    assert (run.state, run.note, run.result) == ("failed", "unknown agent", None)


def test_task_runs_with_the_memory_of_the_chat_that_scheduled_it(db: Database) -> None:
    """Also when its outcome goes elsewhere, or the chat is not known any more."""
    with job(db):
        spec = daily(db).spec.model_copy(update={"name": "other"})
        made = tasks.add_task(db, own_of("telegram:99"), spec, START)
    assert fire(db, MORNING) == [1, made.id]
    queues = {f"{task_runs.QUEUE}work/{number}": number for number in (1, made.id)}
    scopes = {}
    for queue, number in queues.items():
        row = inbox.find_oldest_new(db, queue)
        assert row is not None
        with job(db):
            admission = TurnAdmission(f"turn-{number}", "work", 1, 15, "1", "proactive")
            turn = turns.admit_message(db, row, admission, MORNING)
        assert turn is not None
        scopes[number] = turn.scope
    assert scopes == {1: "", made.id: "telegram:99"}


def test_a_task_is_not_fired_once_its_agent_has_left_the_node(db: Database) -> None:
    """It was due at the look before."""
    task = daily(db)
    with job(db):
        assert not task_firing.fire_task(db, task.id, MORNING, frozenset({"home"}))
    assert states(db, task) == []
    assert fire(db, MORNING) == [task.id]
