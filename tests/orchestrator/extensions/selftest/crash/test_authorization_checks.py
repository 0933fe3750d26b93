"""The checks of scheduled tasks and approvals report violations, and nothing otherwise."""

import json
from dataclasses import replace

import pytest

from orchestrator.extensions.selftest.crash import timetable
from orchestrator.extensions.selftest.crash.authorization_checks import (
    check_approvals,
    check_fired_tasks,
)
from orchestrator.extensions.selftest.crash.evidence import (
    ApprovalRow,
    Death,
    Evidence,
    JournalRows,
    RunRow,
    StepRow,
    TaskRow,
)
from orchestrator.extensions.selftest.crash.ledger import LedgerEvent
from orchestrator.extensions.selftest.crash.scenario import Script, make_scenario

NOW = 1_800_000_000.0  # seconds
SCHEDULE = timetable.build_cron_expression(NOW)
FIRST, SECOND, THIRD = timetable.parse_instants(SCHEDULE)
PLAN = StepRow(
    "t", 2, "tool", "schedule_task", "local_tx",
    json.dumps({"name": "two", "schedule": SCHEDULE}), "t:2", "done", "{}", None, 1, 15, 30,
)  # fmt: skip
RUNS = (
    RunRow("two", FIRST, "ran", 3, FIRST + 5, FIRST + 90),
    RunRow("two", SECOND, "missed", None, THIRD + 5, THIRD + 5),
    RunRow("two", THIRD, "ran", 4, THIRD + 5, THIRD + 90),
)
SHOWN = (LedgerEvent("shown", "two#1 done", 3, 101), LedgerEvent("shown", "two#1 done", 4, 101))
TASK = Evidence(
    make_scenario(Script("one", 101, (("schedule_task",),), work="two"), Script("two", 101)),
    JournalRows(steps=(PLAN,), runs=RUNS),
    SHOWN,
)
CALL = replace(
    PLAN, name="selftest_effect", side_effect="non_idempotent", args='{"name":"one.0.effect"}'
)
USED = ApprovalRow("t", 2, "used")
EFFECT = LedgerEvent("effect", "one.0.effect", at=20)
WORD = Evidence(
    make_scenario(Script("one", 101, (("selftest_effect",),), decision="approve")),
    JournalRows(steps=(CALL,), approvals=(USED,)),
    (EFFECT,),
    (Death(JournalRows(steps=(CALL,), approvals=(USED,)), 0),),
)


def with_runs(*runs: RunRow) -> Evidence:
    """The task with other runs."""
    return replace(TASK, journal=replace(TASK.journal, runs=runs))


def with_decision(decision: str, step: StepRow, approval: str, *events: LedgerEvent) -> Evidence:
    """The call with another answer, end and approval."""
    rows = (replace(USED, state=approval),) if approval else ()
    script = Script("one", 101, (("selftest_effect",),), decision=decision)
    return Evidence(make_scenario(script), JournalRows(steps=(step,), approvals=rows), events)


def test_instants_are_read_as_they_were_written() -> None:
    """One second after the other, within one minute, also shortly before the next one."""
    for second in range(60):
        now = 1_800_000_000 + second
        found = timetable.parse_instants(timetable.build_cron_expression(now))
        assert found == [found[0], found[0] + 1000, found[0] + 2000]
        assert 0 < found[0] - now * 1000 <= 5000


def test_what_was_fired_and_allowed_as_it_should_is_no_violation() -> None:
    """No check reports anything."""
    assert list(check_fired_tasks(TASK)) == []
    assert list(check_approvals(WORD)) == []
    failed = replace(CALL, state="failed")
    assert list(check_approvals(with_decision("deny", failed, "denied"))) == []


@pytest.mark.parametrize(
    "evidence",
    [
        with_runs(*RUNS[:2]),
        with_runs(*RUNS, replace(RUNS[2], scheduled_at=THIRD + 1)),
        with_runs(RUNS[0], replace(RUNS[1], inbox_id=9), replace(RUNS[2], inbox_id=None)),
        replace(TASK, events=SHOWN[:1]),
        replace(TASK, events=(*SHOWN, LedgerEvent("shown", "two#1 done", 5, 101))),
    ],
    ids=["instant lost", "instant without a run", "older one ran", "not seen", "seen twice"],
)
def test_task_that_fired_too_often_or_not_at_all_is_named(evidence: Evidence) -> None:
    """Each instant has one row, the newest of a downtime runs, and each run is seen once."""
    assert list(check_fired_tasks(evidence)) != []


def test_instant_that_passed_before_the_planning_is_not_missed() -> None:
    """A task may be created late; from then on every instant counts."""
    late = replace(TASK.journal, runs=RUNS[1:], tasks=(TaskRow("two", "done", FIRST + 1),))
    shown = replace(TASK, journal=late, events=SHOWN[1:])
    assert list(check_fired_tasks(shown)) == []
    early = replace(late, tasks=(TaskRow("two", "done", FIRST - 1),))
    assert list(check_fired_tasks(replace(shown, journal=early))) != []


def test_instants_that_come_while_a_run_goes_on_may_all_be_skipped() -> None:
    """The first run ended only after the others were due."""
    busy = (
        replace(RUNS[0], ended_at=THIRD + 90),
        replace(RUNS[1], state="skipped"),
        replace(RUNS[2], state="skipped", inbox_id=None),
    )
    assert list(check_fired_tasks(replace(with_runs(*busy), events=SHOWN[:1]))) == []
    assert list(check_fired_tasks(replace(with_runs(RUNS[0], *busy[1:]), events=SHOWN[:1]))) != []


@pytest.mark.parametrize(
    "evidence",
    [
        with_decision("approve", CALL, "granted", EFFECT),
        with_decision("approve", CALL, "", EFFECT),
        with_decision("approve", replace(CALL, state="failed"), "used"),
        with_decision("deny", replace(CALL, state="failed"), "denied", EFFECT),
        with_decision("deny", replace(CALL, state="failed"), "used"),
        replace(WORD, journal=replace(WORD.journal, approvals=(replace(USED, state="granted"),))),
    ],
    ids=["not used", "never asked", "refused", "ran although denied", "no denial", "given back"],
)
def test_call_without_its_approval_is_named(evidence: Evidence) -> None:
    """A call that ran has used its approval, which is never restored."""
    assert list(check_approvals(evidence)) != []
