"""The rows of trials: a turn of one is stored in a single transaction at its end, or not at all."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import Field, Json

from orchestrator.control.trials import TrialRequest, TrialState, TriedTurn
from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.journal.db.database import Database, Rows
from thinker.protocol.messages import Frozen
from thinker.protocol.methods import RecordedStep

DAEMON_STOPPED = "the daemon stopped"
ELSEWHERE = "trial {number} runs at the node {node}; wait for its end, or stop it first"
SHOWN = 200  # newest trials in a list


class StoredRequest(Frozen):
    """What a trial was asked to do, by whole ids of turns; ``typed`` are results of people.

    ``node`` is the address of the daemon that runs it, if that shares its journal.
    """

    request: TrialRequest
    typed: dict[str, str] = Field(default_factory=dict)
    node: str = ""


class StoredRun(Frozen):
    """One run of a turn: its report, and its steps if it waits for the result of a call."""

    tried: TriedTurn
    steps: tuple[RecordedStep, ...] = ()


@dataclass(frozen=True)
class TrialRow:
    """A trial; times in milliseconds."""

    id: int
    agent_id: str
    change: Json[StoredRequest]
    by_user: str
    state: TrialState
    note: str
    limit_tokens: int | None
    limit_usd: float | None
    made_at: int


@dataclass(frozen=True)
class TrialRunRow:
    """A run of a turn in a trial, ``waiting`` for a call's result or ``done``."""

    turn_id: str
    nth: int
    state: str
    result: Json[StoredRun]


class TrialSums(NamedTuple):
    """How many runs of a trial are done, and what its calls have used so far."""

    done: int = 0
    tokens: int = 0
    usd: float = 0.0


TRIALS = Rows(TrialRow, "trial")
RUNS = Rows(TrialRunRow, "trial_turn")


def insert_trial(db: Database, agent_id: str, stored: StoredRequest, by: str, now: int) -> int:
    """Store a trial that begins now; return its number."""
    request = stored.request
    sql = (
        "INSERT INTO trial(kind, agent_id, change, by_user, state, note, limit_tokens, limit_usd,"
        " made_at) VALUES(?,?,?,?,'running',?,?,?,?) RETURNING id"
    )
    values = request.kind, agent_id, stored.model_dump_json(exclude_defaults=True), by
    limits = request.limit_tokens, request.limit_usd
    return int(db.execute(sql, (*values, request.note, *limits, now)).get)


def load_trial(db: Database, number: int) -> TrialRow:
    """Return a trial.

    Raises:
        UnknownNameError: there is no such trial.
    """
    found = TRIALS.find_first(db, "id = ?", number)
    if found is None:
        raise UnknownNameError(f"there is no trial {number}; see orchestrator trial list")
    return found


def list_trials(db: Database) -> list[TrialRow]:
    return TRIALS.select(db, "true ORDER BY id DESC LIMIT ?", SHOWN)


def list_runs(db: Database, number: int) -> list[TrialRunRow]:
    return RUNS.select(db, "trial_id = ? AND result IS NOT NULL ORDER BY turn_id, nth", number)


def sum_trial(db: Database, number: int) -> TrialSums:
    """Sum what the calls of a trial have used or reserved, also those of runs without a row."""
    sql = "SELECT count(*) FROM trial_turn WHERE trial_id = ? AND state = 'done'"
    done = int(db.execute(sql, (number,)).get)
    ((tokens, usd),) = db.execute(
        "SELECT coalesce(sum(prompt + completion), 0), coalesce(sum(usd), 0.0) FROM model_call"
        " WHERE turn_id >= ? AND turn_id < ?",
        (f"trial/{number}/", f"trial/{number}0"),
    )
    return TrialSums(done, int(tokens), float(usd))


def store_run(db: Database, number: int, run: StoredRun) -> bool:
    """Store a run of a turn, in place of one that waited; return whether its trial goes on."""
    tried = run.tried
    steps = tried.tried.steps
    costs = [step.usd for step in steps if step.usd is not None]
    state = "done" if tried.done else "waiting"
    sums = [sum(getattr(step, name) for step in steps) for name in ("prompt", "completion")]
    db.execute(
        "INSERT INTO trial_turn(trial_id, turn_id, nth, state, fidelity, result, prompt,"
        " completion, cached, usd, ms) SELECT ?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11"
        " WHERE EXISTS(SELECT 1 FROM trial WHERE id = ?1)"
        " AND EXISTS(SELECT 1 FROM turn WHERE id = ?2)"
        " ON CONFLICT(trial_id, turn_id, nth) DO UPDATE SET state = excluded.state,"
        " fidelity = excluded.fidelity, result = excluded.result, prompt = excluded.prompt,"
        " completion = excluded.completion, cached = excluded.cached, usd = excluded.usd,"
        " ms = excluded.ms",
        (
            number,
            tried.turn_id,
            tried.nth,
            state,
            tried.fidelity,
            run.model_dump_json(exclude_defaults=True),
            *sums,
            sum(step.cached for step in steps),
            sum(costs) if costs else None,
            tried.tried.ms,
        ),
    )
    running = "SELECT 1 FROM trial WHERE id = ? AND state = 'running'"
    return db.execute(running, (number,)).get is not None


def end_trial(db: Database, number: int, state: TrialState, note: str, now: int) -> None:
    """End a trial that runs; without a ``note`` it keeps its own."""
    db.execute(
        "UPDATE trial SET state = ?, note = coalesce(nullif(?, ''), note), ended_at = ?"
        " WHERE id = ? AND state = 'running'",
        (state, note, now, number),
    )


def continue_trial(
    db: Database, number: int, typed: Mapping[str, str], limit_usd: float | None, node: str = ""
) -> TrialRow:
    """Let a stopped trial run again, with more typed results and perhaps another limit.

    Raises:
        OrchestratorError: another node runs it.
    """
    found = load_trial(db, number)
    if found.state == "running":
        raise OrchestratorError(ELSEWHERE.format(number=number, node=found.change.node))
    update = {"typed": {**found.change.typed, **typed}, "node": node}
    known = found.change.model_copy(update=update)
    db.execute(
        "UPDATE trial SET state = 'running', note = '', ended_at = NULL, change = ?,"
        " limit_usd = coalesce(?, limit_usd) WHERE id = ?",
        (known.model_dump_json(exclude_defaults=True), limit_usd, number),
    )
    return load_trial(db, number)


def stop_running_trials(db: Database, node: str, now: int) -> None:
    """Stop the trials that an earlier daemon of a node left running."""
    if db.execute("SELECT EXISTS(SELECT 1 FROM trial WHERE state = 'running')").get:
        db.execute(
            "UPDATE trial SET state = 'stopped', note = ?, ended_at = ? WHERE state = 'running'"
            " AND coalesce(change ->> '$.node', '') = ?",
            (DAEMON_STOPPED, now, node),
        )
