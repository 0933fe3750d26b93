"""Model calls and their cost, reserved before each call and settled with its T3.

``reserved → settled``, or ``lost`` if the process that made the call died: the cost is unknown, so
it counts as it was reserved. A call that belongs to no turn has the name of its job in the place of
a turn's id.
"""

from dataclasses import dataclass
from typing import NamedTuple

from orchestrator.journal.db.database import Database
from orchestrator.journal.db.distinct import distinct
from orchestrator.journal.db.rows import Rows
from thinker.protocol.messages import Usage

MINUTE = 60_000  # milliseconds
INSERT = """INSERT INTO model_call(agent_id, turn_id, model, state, prompt, completion, cached, usd,
  at, purpose, seq) VALUES(?,?,?,?,?,?,?,?,?,?,?)"""
SETTLE = """UPDATE model_call SET agent_id = ?1, model = ?3, state = ?4, prompt = ?5,
  completion = ?6, cached = ?7, usd = ?8, at = ?9, purpose = ?10, seq = ?11
  WHERE turn_id = ?2 AND state = 'reserved'"""
PURPOSES = {"compaction": "compaction", "extraction": "facts", "embedding": "embedding"}
PURPOSES |= {"audio": "voice", "picture": "pictures"}
AGENTS = distinct("model_call", "agent_id", "true")
NEWEST = "SELECT prompt + completion FROM model_call WHERE state = 'settled' AND "


class Amount(NamedTuple):
    """Tokens and US dollars; calls of models without a price cost 0 dollars."""

    tokens: int = 0
    usd: float = 0.0


def reserve(
    db: Database, agent_id: str, turn_id: str, model: str, amount: Amount, now: int
) -> None:
    """Reserve an amount for the next model call of a turn, which has no open reservation."""
    tokens = (amount.tokens, 0, 0)
    values = (agent_id, turn_id, model, "reserved", *tokens, amount.usd, now)
    db.execute(INSERT, (*values, purpose(turn_id), None))


def book(
    db: Database,
    agent_id: str,
    turn_id: str | None,
    model: str,
    usage: Usage,
    usd: float | None,
    now: int,
) -> None:
    """Store the usage of a call that was not reserved."""
    tokens = (usage.prompt, usage.completion, usage.cached)
    values = (agent_id, turn_id, model, "settled", *tokens, usd, now)
    db.execute(INSERT, (*values, purpose(turn_id), None))


def settle(
    db: Database,
    agent_id: str,
    turn_id: str,
    model: str,
    usage: Usage,
    usd: float | None,
    now: int,
    seq: int | None = None,
) -> None:
    """Store the usage of a call, of step ``seq``, in the place of its reservation if it has one."""
    tokens = (usage.prompt, usage.completion, usage.cached)
    values = (agent_id, turn_id, model, "settled", *tokens, usd, now, purpose(turn_id), seq)
    db.execute(SETTLE, values)
    if not db.changes():
        db.execute(INSERT, values)


def purpose(work: str | None) -> str | None:
    """Return what a call of a turn or job is for; None if it belongs to neither."""
    if work is None:
        return None
    job, slash, _ = work.partition("/")
    return PURPOSES.get(job, "turn") if slash else "turn"


def charged(db: Database, turn_id: str) -> str | None:
    """Return the agent that is charged for a turn or job; None if it is unknown."""
    found = db.execute("SELECT agent_id FROM model_call WHERE turn_id = ? LIMIT 1", (turn_id,)).get
    found = found or db.execute("SELECT agent_id FROM turn WHERE id = ?", (turn_id,)).get
    return None if found is None else str(found)


def replace_lost(db: Database, turn_id: str, since: int) -> None:
    """Delete the oldest reservation made since a time whose call is known after all."""
    db.execute(
        "DELETE FROM model_call WHERE id = (SELECT min(id) FROM model_call"
        " WHERE turn_id = ? AND state IN('reserved','lost') AND at >= ?)",
        (turn_id, since),
    )


def replace_stopped(db: Database, turn_id: str) -> None:
    """Delete the lost reservation of a cancelled turn whose call is known after all."""
    db.execute(
        "DELETE FROM model_call WHERE id = (SELECT max(id) FROM model_call"
        " WHERE turn_id = ?1 AND state = 'lost')"
        " AND EXISTS(SELECT 1 FROM turn WHERE id = ?1 AND state = 'cancelled')",
        (turn_id,),
    )


def lose(db: Database, turn_id: str) -> None:
    """Mark a turn's open reservation as lost: its call counts as reserved."""
    db.execute(
        "UPDATE model_call SET state = 'lost' WHERE turn_id = ? AND state = 'reserved'", (turn_id,)
    )


def lose_of_open_turns(db: Database) -> None:
    """Mark the open reservations of the previous process as lost, at boot."""
    db.execute(
        "UPDATE model_call SET state = 'lost' WHERE state = 'reserved'"
        " AND turn_id IN (SELECT id FROM turn WHERE state IN('running','waiting'))"
    )


def is_reserved(db: Database, turn_id: str) -> bool:
    query = "SELECT count(*) FROM model_call WHERE turn_id = ? AND state = 'reserved'"
    return bool(db.execute(query, (turn_id,)).get)


def release(db: Database, turn_id: str) -> None:
    """Delete a turn's open reservation: its call is not made."""
    db.execute("DELETE FROM model_call WHERE turn_id = ? AND state = 'reserved'", (turn_id,))


def last(db: Database, agent_id: str, turn_id: str) -> int | None:
    """Return the tokens of a turn's newest call, or of the agent's, as an estimate of the next.

    Without a ``turn_id``, those of the agent's.
    """
    of_turn = f"{NEWEST} turn_id = ? ORDER BY id DESC LIMIT 1"
    of_agent = f"{NEWEST} agent_id = ? AND turn_id IN(SELECT id FROM turn) ORDER BY at DESC LIMIT 1"
    found = db.execute(of_turn, (turn_id,)).get if turn_id else None
    found = db.execute(of_agent, (agent_id,)).get if found is None else found
    return None if found is None else int(found)


def spent(db: Database, agent_id: str, since: int) -> Amount:
    """Sum the calls since a time (milliseconds), including reserved and lost ones."""
    (row,) = db.execute(
        "SELECT coalesce(sum(prompt + completion), 0), coalesce(sum(usd), 0.0) FROM model_call"
        " WHERE agent_id = ? AND at >= ?",
        (agent_id, since),
    )
    return Amount(int(row[0]), float(row[1]))


def unpriced(db: Database, agent_id: str, since: int) -> dict[str, int]:
    """Return how many calls since a time have no known cost, by model."""
    rows = db.execute(
        "SELECT model, count(*) FROM model_call WHERE agent_id = ? AND at >= ? AND usd IS NULL"
        " GROUP BY model ORDER BY model",
        (agent_id, since),
    )
    return {str(model): int(calls) for model, calls in rows}


def cost(db: Database, turn_id: str) -> float | None:
    """Return what a turn's calls cost in dollars; None if a model of theirs has no price."""
    sql = "SELECT sum(usd), count(*) FILTER(WHERE usd IS NULL) FROM model_call WHERE turn_id = ?"
    ((usd, unpriced),) = db.execute(sql, (turn_id,))
    return None if unpriced else usd


def buckets(db: Database, agent_id: str, since: int) -> dict[int, int]:
    """Sum the tokens of settled calls by minute of the Unix epoch, since a time (milliseconds).

    Calls before the end of the agent's last pause are left out.
    """
    rows = db.execute(
        "SELECT at / ?, sum(prompt + completion) FROM model_call"
        " WHERE agent_id = ? AND at >= ? AND state = 'settled'"
        " AND id > (SELECT coalesce(max(mark), 0) FROM pause WHERE agent_id = ?) GROUP BY 1",
        (MINUTE, agent_id, since, agent_id),
    )
    return {int(minute): int(tokens) for minute, tokens in rows}


def newest(db: Database) -> int:
    """Return the id of the newest settled call (0: none)."""
    sql = "SELECT id FROM model_call WHERE state = 'settled' ORDER BY id DESC LIMIT 1"
    return int(db.execute(sql).get or 0)


@dataclass(frozen=True)
class Total:
    """The usage of an agent in a period, all of it or for one ``purpose``.

    ``unsettled`` are the tokens of reserved and lost calls, which may be billed; ``unpriced``
    counts the calls whose cost is missing in ``usd``.
    """

    agent_id: str
    calls: int
    prompt: int
    cached: int
    completion: int
    usd: float
    unpriced: int
    unsettled: int
    purpose: str | None = None


SUMS = (
    "agent_id, count(*) FILTER(WHERE state = 'settled'),"
    " coalesce(sum(prompt) FILTER(WHERE state = 'settled'), 0), sum(cached),"
    " coalesce(sum(completion) FILTER(WHERE state = 'settled'), 0), coalesce(sum(usd), 0.0),"
    " count(*) FILTER(WHERE usd IS NULL),"
    " coalesce(sum(prompt + completion) FILTER(WHERE state <> 'settled'), 0)"
)
TOTALS = Rows(Total, "model_call", SUMS)
BY_PURPOSE = Rows(Total, "model_call", f"{SUMS}, purpose")


def totals(db: Database, since: int, until: int, *, by_purpose: bool = False) -> list[Total]:
    """Sum the usage of each agent with calls from ``since`` to before ``until`` (milliseconds)."""
    rows, group = (BY_PURPOSE, "agent_id, purpose") if by_purpose else (TOTALS, "agent_id")
    where = f"agent_id IN({AGENTS}) AND at >= ? AND at < ? GROUP BY {group} ORDER BY {group}"
    where += " NULLS FIRST"
    return rows.select(db, where, since, until)
