"""Unconfirmed calls, and people's verdicts on them.

The step stays as it is: the model was told that its call is unconfirmed. The verdict is for people.
"""

from dataclasses import dataclass
from typing import NamedTuple

from orchestrator.errors import UnknownNameError
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database, Rows

VERDICT_MS = 7 * 86_400_000  # that a call waits for a verdict; later it is useless
MAX_ARGUMENTS = 2000  # characters of arguments
OPEN = (
    "step.state = 'unknown' AND step.t_end > ? AND NOT EXISTS(SELECT 1 FROM call_verdict AS told"
    " WHERE told.turn_id = step.turn_id AND told.seq = step.seq)"
)


@dataclass(frozen=True)
class UnconfirmedCall:
    """A call that may or may not have happened; ``at`` in milliseconds."""

    turn_id: str
    seq: int
    agent_id: str
    tool: str
    arguments: str
    at: int


class CallOutcome(NamedTuple):
    """Whether a call happened after all."""

    turn_id: str
    seq: int
    happened: bool


@dataclass(frozen=True)
class CallVerdict:
    """A person's verdict on a call; ``at`` in milliseconds."""

    seq: int
    happened: bool
    by_user: str
    at: int


CALLS = Rows(
    UnconfirmedCall,
    "step INDEXED BY step_unknown JOIN turn ON turn.id = step.turn_id",
    f"step.turn_id, seq, agent_id, name, substr(ifnull(args, ''), 1, {MAX_ARGUMENTS}), step.t_end",
)
VERDICTS = Rows(CallVerdict, "call_verdict")


def list_unconfirmed_calls(db: Database, now: int, limit: int) -> list[UnconfirmedCall]:
    """Return the calls that wait for a verdict, newest first."""
    where = f"{OPEN} ORDER BY step.t_end DESC LIMIT ?"
    return CALLS.select(db, where, now - VERDICT_MS, limit)


def load_verdicts_of_turn(db: Database, turn_id: str) -> dict[int, CallVerdict]:
    """Return the verdicts on a turn's calls, keyed by the call's number."""
    return {item.seq: item for item in VERDICTS.select(db, "turn_id = ?", turn_id)}


def store_verdict(db: Database, outcome: CallOutcome, by: str, now: int) -> None:
    """Store a person's verdict on a call.

    Raises:
        UnknownNameError: no call of this number waits for a verdict.
    """
    turn_id, seq, happened = outcome
    row = CALLS.find_first(
        db, f"{OPEN} AND step.turn_id = ? AND seq = ?", now - VERDICT_MS, turn_id, seq
    )
    if row is None:
        name = f"call {seq} of turn {turn_id}"
        raise UnknownNameError(f"{name} is not unconfirmed, or was settled; reload the inbox")
    values = (turn_id, seq, int(happened), by, now)
    db.execute("INSERT INTO call_verdict VALUES(?,?,?,?,?)", values)
    act = "call happened" if happened else "call did not happen"
    audit.record_decision(db, by, act, f"{row.tool}, call {seq} of {turn_id}", now)
