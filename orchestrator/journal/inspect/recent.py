"""How many messages there are and the newest turns, for whoever looks at what the daemon does."""

from dataclasses import dataclass

import apsw

from orchestrator.journal.turns import steps
from orchestrator.journal.turns.turns import OPEN

FEW = (  # messages that an index finds; an update is claimed by a turn that is open
    "state = 'new'",
    "state IN('dead','cancelled')",
    f"state = 'claimed' AND turn_id IN(SELECT id FROM turn WHERE {OPEN})",
)


@dataclass(frozen=True)
class TurnSummary:
    """A turn in a list; ``ms`` from its start to its reply, None while it is open."""

    id: str
    agent_id: str
    chat_key: str
    state: str
    stop_reason: str | None
    tools: tuple[str, ...]
    ms: int | None


def counts(db: apsw.Connection) -> dict[str, int]:
    """How many updates are in each state; those that are done are the rest of all."""
    sql = "SELECT state, count(*) FROM inbox WHERE {} GROUP BY state"
    states = dict.fromkeys(("new", "claimed", "done", "dead", "cancelled"), 0)
    states |= {str(state): int(n) for few in FEW for state, n in db.execute(sql.format(few))}
    every = int(db.execute("SELECT count(*) FROM inbox").get)
    return states | {"done": every - sum(states.values())}


def turns(db: apsw.Connection, limit: int) -> list[TurnSummary]:
    """The newest first."""
    rows = db.execute(
        "SELECT id, agent_id, chat_key, state, stop_reason, ended_at - started_at FROM turn"
        " ORDER BY rowid DESC LIMIT ?",
        (limit,),
    )
    return [
        TurnSummary(turn, agent, chat, state, stop, steps.tools_of(db, turn), ms)
        for turn, agent, chat, state, stop, ms in list(rows)
    ]
