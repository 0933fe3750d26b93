"""Counts of messages and the newest turns, for ``status``."""

from typing import NamedTuple

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import steps
from orchestrator.journal.turns.turns import OPEN

INDEXED = (  # conditions that an index answers; only open turns have claimed messages
    "state = 'new'",
    "state IN('dead','cancelled')",
    f"state = 'claimed' AND turn_id IN(SELECT id FROM turn WHERE {OPEN})",
)


class TurnSummary(NamedTuple):
    """A turn in a list; ``ms`` is the time from its start to its reply, None while it is open."""

    id: str
    agent_id: str
    chat_key: str
    state: str
    stop_reason: str | None
    tools: tuple[str, ...]
    ms: int | None
    error: str | None = None


def count_messages_by_state(db: Database) -> dict[str, int]:
    """Count the messages in each state.

    Finished messages are the remainder of all that ever came, as no index counts them.
    """
    sql = "SELECT state, count(*) FROM inbox WHERE {} GROUP BY state"
    states = dict.fromkeys(("new", "claimed", "done", "dead", "cancelled"), 0)
    states |= {
        str(state): int(n) for where in INDEXED for state, n in db.execute(sql.format(where))
    }
    every = int(db.execute("SELECT max(id) FROM inbox").get or 0)
    return states | {"done": max(0, every - sum(states.values()))}


def list_recent_turns(db: Database, limit: int) -> list[TurnSummary]:
    rows = db.execute(
        "SELECT id, agent_id, chat_key, state, stop_reason, ended_at - started_at, error FROM turn"
        " ORDER BY rowid DESC LIMIT ?",
        (limit,),
    )
    return [
        TurnSummary(turn, agent, chat, state, stop, steps.list_tool_names(db, turn), ms, error)
        for turn, agent, chat, state, stop, ms, error in list(rows)
    ]
