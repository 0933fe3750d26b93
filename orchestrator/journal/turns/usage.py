"""Model calls and their cost, reserved before each call and settled with its T3.

``reserved → settled``, or ``lost`` if the process that made the call died: the cost is unknown, so
the reservation counts. A call outside of turns has the name of its job in place of a turn's id.

Where: is the usage of a model call stored?
"""

from typing import NamedTuple

from orchestrator.journal.db.database import Database, build_distinct_query
from thinker.protocol.messages import Usage

MINUTE = 60_000  # milliseconds
INSERT = """INSERT INTO model_call(agent_id, turn_id, model, state, prompt, completion, cached, usd,
  at, purpose, seq) VALUES(?,?,?,?,?,?,?,?,?,?,?)"""
SETTLE = """UPDATE model_call SET agent_id = ?1, model = ?3, state = ?4, prompt = ?5,
  completion = ?6, cached = ?7, usd = ?8, at = ?9, purpose = ?10, seq = ?11
  WHERE turn_id = ?2 AND state = 'reserved'"""
PURPOSES = {"compaction": "compaction", "extraction": "facts", "embedding": "embedding"}
PURPOSES |= {"audio": "voice", "picture": "pictures", "trial": "trial"}
AGENTS = build_distinct_query("model_call", "agent_id", "true")
SHARED = ""  # in place of an agent's id: all of them, whose budget is that of the file
SUM = """SELECT coalesce(sum(prompt + completion), 0), coalesce(sum(usd), 0.0) FROM model_call
  WHERE agent_id {} AND at >= ?"""
SUM_OF_ALL = SUM.format(f"IN({AGENTS})")
COST = "SELECT sum(usd), count(*) FILTER(WHERE usd IS NULL) FROM model_call WHERE turn_id = ?"
NEWEST = "SELECT prompt + completion FROM model_call WHERE state = 'settled' AND "


class Amount(NamedTuple):
    """Tokens and US dollars; calls of models without a price cost 0 dollars."""

    tokens: int = 0
    usd: float = 0.0


def reserve_amount(
    db: Database, agent_id: str, turn_id: str, model: str, amount: Amount, now: int
) -> None:
    """Reserve an amount for the next model call of a turn, which has no open reservation."""
    used = Usage(prompt=amount.tokens)
    db.execute(INSERT, _build_row(agent_id, turn_id, model, "reserved", used, amount.usd, now))


def record_usage(
    db: Database,
    agent_id: str,
    turn_id: str | None,
    model: str,
    usage: Usage,
    usd: float | None,
    now: int,
) -> None:
    """Store the usage of a call that was not reserved."""
    db.execute(INSERT, _build_row(agent_id, turn_id, model, "settled", usage, usd, now))


def settle_call(
    db: Database,
    agent_id: str,
    turn_id: str,
    model: str,
    usage: Usage,
    usd: float | None,
    now: int,
    seq: int | None = None,
) -> None:
    """Store the usage of a call, of step ``seq``, in place of its reservation if any."""
    values = _build_row(agent_id, turn_id, model, "settled", usage, usd, now, seq)
    db.execute(SETTLE, values)
    if not db.changes():
        db.execute(INSERT, values)


def _build_row(
    agent_id: str,
    turn_id: str | None,
    model: str,
    state: str,
    used: Usage,
    usd: float | None,
    at: int,
    seq: int | None = None,
) -> tuple[object, ...]:
    """Return the values of `INSERT` and `SETTLE`."""
    tokens = (used.prompt, used.completion, used.cached)
    return agent_id, turn_id, model, state, *tokens, usd, at, classify_purpose(turn_id), seq


def classify_purpose(work: str | None) -> str | None:
    """Return the purpose of a call of a turn or job; None if it belongs to neither."""
    if work is None or "/" not in work:
        return work and "turn"
    job, _, _ = work.partition("/")
    return PURPOSES.get(job, "turn")


def find_charged_agent(db: Database, turn_id: str) -> str | None:
    """Return the agent that is charged for a turn or job; None if it is unknown."""
    found = db.execute("SELECT agent_id FROM model_call WHERE turn_id = ? LIMIT 1", (turn_id,)).get
    found = found or db.execute("SELECT agent_id FROM turn WHERE id = ?", (turn_id,)).get
    return None if found is None else str(found)


def delete_lost_reservation(db: Database, turn_id: str, since: int) -> None:
    """Delete the oldest reservation since a time whose call is now known."""
    db.execute(
        "DELETE FROM model_call WHERE id = (SELECT min(id) FROM model_call"
        " WHERE turn_id = ? AND state IN('reserved','lost') AND at >= ?)",
        (turn_id, since),
    )


def delete_stopped_reservation(db: Database, turn_id: str) -> None:
    """Delete the lost reservation of a cancelled turn whose call is now known."""
    db.execute(
        "DELETE FROM model_call WHERE id = (SELECT max(id) FROM model_call"
        " WHERE turn_id = ?1 AND state = 'lost')"
        " AND EXISTS(SELECT 1 FROM turn WHERE id = ?1 AND state = 'cancelled')",
        (turn_id,),
    )


def mark_reservation_lost(db: Database, turn_id: str) -> None:
    """Mark a turn's open reservation as lost: its call counts as reserved."""
    db.execute(
        "UPDATE model_call SET state = 'lost' WHERE turn_id = ? AND state = 'reserved'", (turn_id,)
    )


def is_reserved(db: Database, turn_id: str) -> bool:
    query = "SELECT count(*) FROM model_call WHERE turn_id = ? AND state = 'reserved'"
    return bool(db.execute(query, (turn_id,)).get)


def release_reservation(db: Database, turn_id: str) -> None:
    """Delete a turn's open reservation: its call is not made."""
    db.execute("DELETE FROM model_call WHERE turn_id = ? AND state = 'reserved'", (turn_id,))


def find_last_tokens(db: Database, agent_id: str, turn_id: str) -> int | None:
    """Return the tokens of a turn's newest call, as an estimate for the next one.

    Without a ``turn_id``, use the agent's newest call.
    """
    of_turn = f"{NEWEST} turn_id = ? ORDER BY id DESC LIMIT 1"
    of_agent = f"{NEWEST} agent_id = ? AND turn_id IN(SELECT id FROM turn) ORDER BY at DESC LIMIT 1"
    found = db.execute(of_turn, (turn_id,)).get if turn_id else None
    found = db.execute(of_agent, (agent_id,)).get if found is None else found
    return None if found is None else int(found)


def sum_spending(db: Database, agent_id: str, since: int) -> Amount:
    """Sum the calls since a time (milliseconds), including reserved and lost ones.

    Those of all agents are read as each agent's are, from the index that begins with the agent.
    """
    if agent_id == SHARED:
        (row,) = db.execute(SUM_OF_ALL, (since,))
    else:
        (row,) = db.execute(SUM.format("= ?"), (agent_id, since))
    return Amount(int(row[0]), float(row[1]))


def sum_turn_cost(db: Database, turn_id: str) -> float | None:
    """Return the cost of a turn's calls in dollars; None if a price is missing."""
    ((usd, unpriced),) = db.execute(COST, (turn_id,))
    return None if unpriced else usd


def sum_tokens_by_minute(db: Database, agent_id: str, since: int) -> dict[int, int]:
    """Sum the tokens of settled calls by minute of the Unix epoch, since a time (milliseconds).

    Calls before the end of the agent's last pause are left out, and those of trials, which have
    limits of their own.
    """
    rows = db.execute(
        "SELECT at / ?, sum(prompt + completion) FROM model_call"
        " WHERE agent_id = ? AND at >= ? AND state = 'settled' AND ifnull(purpose, '') <> 'trial'"
        " AND id > (SELECT coalesce(max(mark), 0) FROM pause WHERE agent_id = ?) GROUP BY 1",
        (MINUTE, agent_id, since, agent_id),
    )
    return {int(minute): int(tokens) for minute, tokens in rows}


def find_newest_call_id(db: Database) -> int:
    """Return the id of the newest settled call (0: none)."""
    sql = "SELECT id FROM model_call WHERE state = 'settled' ORDER BY id DESC LIMIT 1"
    return int(db.execute(sql).get or 0)
