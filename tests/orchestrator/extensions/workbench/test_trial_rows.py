"""Trials in the journal."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import booted, job, open_turn

from orchestrator.control.trials import TrialRequest, TriedStep, TriedTurn, TurnRecord
from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.extensions.workbench import trial_rows
from orchestrator.extensions.workbench.trial_rows import StoredRequest, StoredRun
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import usage
from orchestrator.journal.turns.usage import Amount
from thinker.protocol.messages import Usage

REQUEST = StoredRequest(request=TrialRequest(turns=("t1",), limit_usd=0.5, note="before"))


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal with a turn."""
    with booted(tmp_path) as db, job(db):
        open_turn(db)
        yield db


def tried(turn_id: str = "t1", *, done: bool = True) -> StoredRun:
    """A run of a turn with one step."""
    steps = (TriedStep(model="m", prompt=10, completion=5, cached=2, usd=0.1),)
    record = TurnRecord(steps=steps, ms=7)
    return StoredRun(tried=TriedTurn(turn_id=turn_id, done=done, fidelity="same", tried=record))


def begun(db: Database) -> int:
    """A trial that runs."""
    return trial_rows.insert_trial(db, "work", REQUEST, "operator", 1)


def test_trial_is_read_back_with_its_runs(db: Database) -> None:
    """With the request as it was; a run that waited is replaced by the same run when done."""
    number = begun(db)
    trial_rows.store_run(db, number, tried(done=False))
    assert trial_rows.sum_trial(db, number).done == 0
    trial_rows.store_run(db, number, tried())
    row = trial_rows.load_trial(db, number)
    assert (row.state, row.change, row.limit_usd, row.note) == ("running", REQUEST, 0.5, "before")
    (run,) = trial_rows.list_runs(db, number)
    assert (run.state, run.result) == ("done", tried())
    assert trial_rows.sum_trial(db, number).done == 1
    with pytest.raises(UnknownNameError, match="no trial 9"):
        trial_rows.load_trial(db, 9)


def test_run_of_a_forgotten_turn_leaves_no_row(db: Database) -> None:
    """Nor does one of a forgotten trial."""
    number = begun(db)
    trial_rows.store_run(db, number, tried("gone"))
    trial_rows.store_run(db, number + 1, tried())
    assert trial_rows.list_runs(db, number) == []
    assert trial_rows.list_runs(db, number + 1) == []


def test_trial_that_a_dead_daemon_left_is_stopped_and_goes_on(db: Database) -> None:
    """With the results that people have typed since."""
    number = begun(db)
    trial_rows.stop_running_trials(db, "", 2)
    row = trial_rows.load_trial(db, number)
    assert (row.state, row.note) == ("stopped", trial_rows.DAEMON_STOPPED)
    trial_rows.end_trial(db, number, "done", "", 3)  # too late
    assert trial_rows.load_trial(db, number).state == "stopped"
    trial_rows.continue_trial(db, number, {"a": "b"}, None)
    trial_rows.end_trial(db, number, "stopped", "", 2)
    row = trial_rows.continue_trial(db, number, {"c": "d"}, 0.75)
    assert (row.state, row.note, row.limit_usd) == ("running", "", 0.75)
    assert row.change.typed == {"a": "b", "c": "d"}
    trial_rows.end_trial(db, number, "done", "", 3)
    assert trial_rows.load_trial(db, number).state == "done"


def test_trial_of_another_node_goes_on_when_this_one_starts(db: Database) -> None:
    """Only the node that runs it may stop it for good, and it cannot run at two nodes."""
    request = REQUEST.model_copy(update={"node": "http://two"})
    number = trial_rows.insert_trial(db, "work", request, "operator", 1)
    trial_rows.stop_running_trials(db, "http://one", 2)
    assert trial_rows.store_run(db, number, tried())
    with pytest.raises(OrchestratorError, match="runs at the node http://two"):
        trial_rows.continue_trial(db, number, {}, None, "http://one")
    trial_rows.end_trial(db, number, "stopped", "it was stopped", 3)
    assert not trial_rows.store_run(db, number, tried())
    row = trial_rows.continue_trial(db, number, {}, None, "http://one")
    assert (row.state, row.change.node) == ("running", "http://one")
    trial_rows.stop_running_trials(db, "http://one", 4)
    assert trial_rows.load_trial(db, number).state == "stopped"


def test_sums_are_of_all_calls_of_this_trial_alone(db: Database) -> None:
    """Also of calls whose run left no row, and not those of trial 10."""
    number = begun(db)
    used = Usage(prompt=10, completion=5)
    usage.record_usage(db, "work", f"trial/{number}/t1/1", "m", used, 0.25, 1)
    usage.reserve_amount(db, "work", f"trial/{number}/t2/1", "m", Amount(100, 0.5), 1)
    usage.record_usage(db, "work", f"trial/{number}0/t1/1", "m", used, 0.25, 1)
    assert trial_rows.sum_trial(db, number) == (0, 115, 0.75)
