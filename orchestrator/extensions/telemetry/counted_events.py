"""Count the events in a range of the journal, by labels.

`transition` has one row for each end of a message, turn or step, so everything is counted once, in
the range with its end. A model call has one row that changes until the call is settled; see
`count_model_calls`. No function reads more than its range.
"""

from collections.abc import Sequence
from typing import NamedTuple

import orjson

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns.deadletters import DROPPED
from orchestrator.journal.turns.inbox import COMMAND
from orchestrator.journal.turns.steps import IMMEDIATE

BOUNDS = (100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000)  # ms
FIGURES = len(BOUNDS) + 2  # columns of `_build_duration_columns`


class RowRange(NamedTuple):
    """The rows of a table with ids above ``after`` and up to ``upto``."""

    after: int
    upto: int


class Durations(NamedTuple):
    """How many of ``times`` durations were at most each of `BOUNDS`, and their sum in ms."""

    within: tuple[int, ...]
    times: int
    total: float


class MessageTally(NamedTuple):
    """Messages that ended."""

    channel: str
    kind: str
    outcome: str
    messages: int


class TurnTally(NamedTuple):
    """Turns that ended, with the times from start to reply."""

    agent_id: str
    stop_reason: str
    durations: Durations


class StepTally(NamedTuple):
    """Calls of a model or a tool (``kind``) that ended.

    ``whole`` and ``first`` are durations of a model's measured calls: to the end, and to the first
    event of a streamed answer. ``retries`` are the attempts that failed before them.
    """

    kind: str
    agent_id: str
    name: str
    outcome: str
    steps: int
    retries: int
    whole: Durations
    first: Durations


class CallTally(NamedTuple):
    """Model calls and their tokens; ``usd`` is None without a known price."""

    agent_id: str
    model: str
    purpose: str
    outcome: str
    calls: int
    prompt: int
    cached: int
    completion: int
    usd: float | None


class CountedCalls(NamedTuple):
    """Settled or finally lost calls, and the ids of calls that are neither yet.

    ``last`` is the id and time of the newest settled call.
    """

    tallies: list[CallTally]
    unsettled: tuple[int, ...]
    last: tuple[int, int] | None


def _build_duration_columns(column: str) -> str:
    within = ", ".join(f"count(*) FILTER(WHERE {column} <= {bound})" for bound in BOUNDS)
    return f"{within}, count({column}), ifnull(sum({column}), 0)"


def _build_ended_clause(tables: str, joined: str) -> str:
    """Build the beginning of a query; CROSS JOIN keeps the range in the outermost loop."""
    return f"FROM transition AS t CROSS JOIN {tables} WHERE t.id > ?1 AND t.id <= ?2 AND {joined}"


def _build_timing_column(key: str) -> str:
    return f"CAST(s.timing ->> '{key}' AS BIGINT)"


MESSAGES = f"""SELECT inbox.channel, inbox.kind, CASE t.state
    WHEN 'done' THEN CASE WHEN t.turn_id IS NOT NULL THEN 'answered'
      WHEN inbox.kind = '{COMMAND}' THEN 'command' ELSE 'joined' END
    WHEN 'cancelled' THEN iif(t.turn_id IS NULL, 'refused', 'cancelled')
    ELSE 'dead' END, count(*)
  {_build_ended_clause("inbox", "inbox.id = t.number")} AND t.kind = 'inbox'
  AND t.state IN('done','cancelled','dead') AND t.note IS DISTINCT FROM '{DROPPED}'
  GROUP BY 1, 2, 3"""
TURNS = f"""SELECT agent_id, reason, {_build_duration_columns("ms")} FROM (
  SELECT turn.agent_id, ifnull(turn.stop_reason, t.state) AS reason,
    max(turn.ended_at - turn.started_at, 0) AS ms
  {_build_ended_clause("turn", "turn.id = t.turn_id")} AND t.kind = 'turn'
  AND t.state IN('replied','cancelled','dead','failed')) AS ended GROUP BY 1, 2"""
STEPS = f"""SELECT kind, agent_id, name, outcome, count(*), sum(retries), {
    _build_duration_columns("ms")
},
    {_build_duration_columns("first")} FROM (
  SELECT s.kind, turn.agent_id, s.name,
    iif(t.state = 'failed' AND s.t_intent IS NULL, 'not_run', t.state) AS outcome,
    max({_build_timing_column("ended")} - {_build_timing_column("began")}, 0) AS ms,
    max({_build_timing_column("first")} - {_build_timing_column("began")}, 0) AS first,
    max(ifnull(json_array_length(s.timing, '$.attempts'), 0) - 1, 0) AS retries
  {
    _build_ended_clause(
        "step AS s CROSS JOIN turn",
        "s.turn_id = t.turn_id AND s.seq = t.number AND turn.id = t.turn_id",
    )
} AND t.kind = 'step'
  AND t.state IN('done','failed','unknown') AND s.name <> '{IMMEDIATE}') AS ended
  GROUP BY 1, 2, 3, 4"""
CALLS = """WITH found AS (SELECT * FROM model_call WHERE id > ?1 AND id <= ?2 UNION ALL
  SELECT * FROM model_call WHERE id <= ?1 AND id IN(
    SELECT CAST(value AS BIGINT) FROM json_each(?3)))"""
USED = f"""{CALLS} SELECT agent_id, model, ifnull(purpose, 'turn'), 'answered', count(*),
    sum(prompt), sum(cached), sum(completion), sum(usd)
  FROM found WHERE state = 'settled' GROUP BY 1, 2, 3
UNION ALL SELECT agent_id, model, ifnull(purpose, 'turn'), 'lost', count(*), 0, 0, 0, NULL
  FROM found WHERE state <> 'settled' AND at < ?4 GROUP BY 1, 2, 3"""
UNSETTLED = f"{CALLS} SELECT id FROM found WHERE state <> 'settled' AND at >= ?4"
LAST = f"{CALLS} SELECT id, at FROM found WHERE state = 'settled' ORDER BY id DESC LIMIT 1"


def count_ended_messages(db: Database, stretch: RowRange) -> list[MessageTally]:
    return [MessageTally(*row) for row in db.execute(MESSAGES, stretch)]


def count_ended_turns(db: Database, stretch: RowRange) -> list[TurnTally]:
    rows = db.execute(TURNS, stretch)
    return [TurnTally(agent, why, _parse_durations(figures)) for agent, why, *figures in rows]


def count_ended_steps(db: Database, stretch: RowRange) -> list[StepTally]:
    found = []
    for kind, agent, name, outcome, made, again, *figures in db.execute(STEPS, stretch):
        whole, first = _parse_durations(figures[:FIGURES]), _parse_durations(figures[FIGURES:])
        found.append(StepTally(kind, agent, name, outcome, made, again, whole, first))
    return found


def count_model_calls(
    db: Database, stretch: RowRange, unsettled: Sequence[int], lost_before: int
) -> CountedCalls:
    """Count the calls in a range of `model_call`.

    ``unsettled`` are earlier calls that were open then. A call without an answer from before
    ``lost_before`` (milliseconds) counts as lost; until then, a broker may still report its usage.
    """
    values = (*stretch, orjson.dumps(list(unsettled)).decode(), lost_before)
    return CountedCalls(
        [CallTally(*row) for row in db.execute(USED, values)],
        tuple(row for (row,) in db.execute(UNSETTLED, values)),
        db.execute(LAST, values[:3]).fetchone(),
    )


def _parse_durations(figures: Sequence[float]) -> Durations:
    *within, times, total = figures
    return Durations(tuple(map(int, within)), int(times), float(total))
