"""What happened in a stretch of the journal, counted by what it was about.

`transition` has one row for each end of a message, turn or step, so that what ends late is counted
once, with the stretch that has its end. A model call has one row that changes until the call is
settled; see `calls`. No function reads more than its stretch.
"""

from collections.abc import Sequence
from typing import NamedTuple

import orjson

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns.deadletters import DROPPED
from orchestrator.journal.turns.inbox import COMMAND
from orchestrator.journal.turns.steps import IMMEDIATE

BOUNDS = (100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000)  # ms
FIGURES = len(BOUNDS) + 2  # columns of `_durations`


class Stretch(NamedTuple):
    """The rows of a table with ids above ``after`` and up to ``upto``."""

    after: int
    upto: int


class Durations(NamedTuple):
    """How many of so many ``times`` were at most each of `BOUNDS`, and their sum in ms."""

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

    ``whole`` and ``first`` are what the measured calls of a model took, and until the first event
    of a streamed answer. ``retries`` are the attempts that failed before them.
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
    """Calls that are settled or lost for good, and the ids of those that are neither yet.

    ``last`` are id and time of the newest one that is settled.
    """

    tallies: list[CallTally]
    unsettled: tuple[int, ...]
    last: tuple[int, int] | None


def _durations(column: str) -> str:
    within = ", ".join(f"count(*) FILTER(WHERE {column} <= {bound})" for bound in BOUNDS)
    return f"{within}, count({column}), ifnull(sum({column}), 0)"


def _ended(tables: str, joined: str) -> str:
    """Return the beginning of a query; CROSS JOIN keeps the stretch its outermost loop."""
    return f"FROM transition AS t CROSS JOIN {tables} WHERE t.id > ?1 AND t.id <= ?2 AND {joined}"


def _timed(key: str) -> str:
    return f"CAST(s.timing ->> '{key}' AS BIGINT)"


MESSAGES = f"""SELECT inbox.channel, inbox.kind, CASE t.state
    WHEN 'done' THEN CASE WHEN t.turn_id IS NOT NULL THEN 'answered'
      WHEN inbox.kind = '{COMMAND}' THEN 'command' ELSE 'joined' END
    WHEN 'cancelled' THEN iif(t.turn_id IS NULL, 'refused', 'cancelled')
    ELSE 'dead' END, count(*)
  {_ended("inbox", "inbox.id = t.number")} AND t.kind = 'inbox'
  AND t.state IN('done','cancelled','dead') AND t.note IS DISTINCT FROM '{DROPPED}'
  GROUP BY 1, 2, 3"""
TURNS = f"""SELECT agent_id, reason, {_durations("ms")} FROM (
  SELECT turn.agent_id, ifnull(turn.stop_reason, t.state) AS reason,
    max(turn.ended_at - turn.started_at, 0) AS ms
  {_ended("turn", "turn.id = t.turn_id")} AND t.kind = 'turn'
  AND t.state IN('replied','cancelled','dead','failed')) AS ended GROUP BY 1, 2"""
STEPS = f"""SELECT kind, agent_id, name, outcome, count(*), sum(retries), {_durations("ms")},
    {_durations("first")} FROM (
  SELECT s.kind, turn.agent_id, s.name,
    iif(t.state = 'failed' AND s.t_intent IS NULL, 'not_run', t.state) AS outcome,
    max({_timed("ended")} - {_timed("began")}, 0) AS ms,
    max({_timed("first")} - {_timed("began")}, 0) AS first,
    max(ifnull(json_array_length(s.timing, '$.attempts'), 0) - 1, 0) AS retries
  {
    _ended(
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


def messages(db: Database, stretch: Stretch) -> list[MessageTally]:
    return [MessageTally(*row) for row in db.execute(MESSAGES, stretch)]


def turns(db: Database, stretch: Stretch) -> list[TurnTally]:
    rows = db.execute(TURNS, stretch)
    return [TurnTally(agent, why, _read(figures)) for agent, why, *figures in rows]


def steps(db: Database, stretch: Stretch) -> list[StepTally]:
    found = []
    for kind, agent, name, outcome, made, again, *figures in db.execute(STEPS, stretch):
        whole, first = _read(figures[:FIGURES]), _read(figures[FIGURES:])
        found.append(StepTally(kind, agent, name, outcome, made, again, whole, first))
    return found


def calls(
    db: Database, stretch: Stretch, unsettled: Sequence[int], lost_before: int
) -> CountedCalls:
    """Count the calls of a stretch of `model_call`.

    ``unsettled`` are earlier ones that were not settled then. One without an answer that is from
    before ``lost_before`` (milliseconds) counts as lost: a broker may still tell what it used.
    """
    values = (*stretch, orjson.dumps(list(unsettled)).decode(), lost_before)
    return CountedCalls(
        [CallTally(*row) for row in db.execute(USED, values)],
        tuple(row for (row,) in db.execute(UNSETTLED, values)),
        db.execute(LAST, values[:3]).fetchone(),
    )


def _read(figures: Sequence[float]) -> Durations:
    *within, times, total = figures
    return Durations(tuple(map(int, within)), int(times), float(total))
