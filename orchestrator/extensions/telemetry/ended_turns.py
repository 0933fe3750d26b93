"""Ended turns and deliveries, without their text or arguments.

Each is found by the row of `transition` for its end, and therefore once.
"""

from dataclasses import dataclass
from typing import NamedTuple

from pydantic import Json

from orchestrator.extensions.telemetry import row_marks
from orchestrator.extensions.telemetry.row_marks import RowMark, SettledIds
from orchestrator.journal.db.database import Database, Rows
from thinker.protocol.call_timing import CallTiming

MAX_ROWS = 5000  # rows of `transition` at a time
SENT = "'delivered','unknown','abandoned','failed_permanent'"
# A message whose delivery is unknown ends a second time when it is abandoned.
ENDS_BEHIND = f"""id > ? AND id <= ? AND turn_id IS NOT NULL AND (
  kind = 'turn' AND state IN('closed','cancelled','dead','failed')
  OR kind = 'outbox' AND state IN({SENT}) AND NOT EXISTS(SELECT 1 FROM transition AS earlier
    WHERE earlier.turn_id = transition.turn_id AND earlier.kind = 'outbox'
    AND earlier.number = transition.number AND earlier.state IN({SENT})
    AND earlier.id < transition.id)) ORDER BY id LIMIT ?"""


@dataclass(frozen=True)
class _End:
    """A row of `transition` that records an end."""

    id: int
    at: int
    kind: str
    turn_id: str
    number: int
    state: str


@dataclass(frozen=True)
class TracedStep:
    """A model response or a tool call; times in milliseconds.

    ``asked`` and ``decided`` are the times of a question for approval and its answer.
    """

    seq: int
    kind: str
    name: str
    state: str
    finish: str | None
    planned: int
    began: int | None
    ended: int | None
    timing: Json[CallTiming] | None
    prompt: int | None
    cached: int | None
    completion: int | None
    asked: int | None
    decided: int | None
    verdict: str | None


@dataclass(frozen=True)
class TracedTurn:
    """A turn; times in milliseconds.

    ``came`` is the time when the message came. A subagent's turn has the call that it works for as
    ``parent_id`` and ``parent_seq``. ``deaths`` are processes that died with it.
    """

    id: str
    agent_id: str
    session_id: int
    recipe: str
    state: str
    stop_reason: str | None
    began: int
    ready: int | None
    ended: int
    came: int | None
    channel: str | None
    deaths: int
    parent_id: str | None
    parent_seq: int | None


class TurnEnd(NamedTuple):
    """The end of a turn at an instant, with its steps and the cost of its model calls in USD."""

    at: int
    turn: TracedTurn
    steps: list[TracedStep]
    usd: dict[int, float]


@dataclass(frozen=True)
class SentMessage:
    """A message of a turn, and how its delivery ended; times in milliseconds."""

    turn_id: str
    part: int
    channel: str
    attempts: int
    queued: int


class DeliveryEnd(NamedTuple):
    """The end of a delivery at an instant, in this state."""

    at: int
    state: str
    message: SentMessage


class EndedWork(NamedTuple):
    """Work that ended up to a mark."""

    mark: RowMark
    ends: list[TurnEnd | DeliveryEnd]


ENDS = Rows(_End, "transition")
TURNS = Rows(
    TracedTurn,
    "turn",
    "id, agent_id, session_id, recipe, state, stop_reason, started_at, ready_at,"
    " ifnull(ended_at, started_at),"
    " (SELECT min(received_at) FROM inbox WHERE turn_id = turn.id),"
    " (SELECT channel FROM inbox WHERE turn_id = turn.id ORDER BY id LIMIT 1),"
    " (SELECT ifnull(max(claims), 0) FROM inbox WHERE turn_id = turn.id),"
    " (SELECT run.turn_id FROM inbox JOIN subagent_run AS run ON run.inbox_id = inbox.id"
    "   WHERE inbox.turn_id = turn.id LIMIT 1),"
    " (SELECT run.seq FROM inbox JOIN subagent_run AS run ON run.inbox_id = inbox.id"
    "   WHERE inbox.turn_id = turn.id LIMIT 1)",
)
STEPS = Rows(
    TracedStep,
    "step LEFT JOIN approval ON approval.turn_id = step.turn_id AND approval.seq = step.seq",
    "step.seq, kind, name, step.state, finish, t_plan, t_intent, t_end, timing,"
    " CAST(usage ->> 'prompt' AS BIGINT), CAST(usage ->> 'cached' AS BIGINT),"
    " CAST(usage ->> 'completion' AS BIGINT), asked_at, decided_at,"
    " approval.state",
)
MESSAGES = Rows(SentMessage, "outbox", "turn_id, part, channel, attempt, created_at")
COSTS = "SELECT seq, usd FROM model_call WHERE turn_id = ? AND seq IS NOT NULL AND usd IS NOT NULL"


def load_ended_work(
    db: Database, after: RowMark, most: int, now: int, upto: SettledIds
) -> EndedWork:
    """Return the first ``most`` ends after a mark, within the next `MAX_ROWS` rows.

    ``now`` is in milliseconds.
    """
    after = row_marks.relocate_mark(db, "transition", after)
    row, at = row_marks.find_row_ahead(db, "transition", after.id, MAX_ROWS, upto)
    ends = ENDS.select(db, ENDS_BEHIND, after.id, row, most)
    if len(ends) == most:
        row, at = ends[-1].id, ends[-1].at
    mark = RowMark(row, at, now) if row else after._replace(read_at=now)
    found = (
        _find_delivery_end(db, end) if end.kind == "outbox" else _find_turn_end(db, end)
        for end in ends
    )
    return EndedWork(mark, [end for end in found if end is not None])


def _find_delivery_end(db: Database, end: _End) -> DeliveryEnd | None:
    """Return the delivered message; none for a preview without a final text."""
    sent = MESSAGES.find_first(db, "id = ? AND final = 1", end.number)
    return None if sent is None else DeliveryEnd(end.at, end.state, sent)


def _find_turn_end(db: Database, end: _End) -> TurnEnd | None:
    turn = TURNS.find_first(db, "id = ?", end.turn_id)
    if turn is None:
        return None
    steps = STEPS.select(db, "step.turn_id = ? ORDER BY step.seq", turn.id)
    usd = {int(seq): float(cost) for seq, cost in db.execute(COSTS, (turn.id,))}
    return TurnEnd(end.at, turn, steps, usd)
