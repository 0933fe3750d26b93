"""What happened lately, in numbers."""

from typing import NamedTuple

from orchestrator.journal.db.database import Database
from orchestrator.journal.db.row_times import first_since
from orchestrator.journal.inspect.spending_days import LATE
from orchestrator.journal.turns import turns


class SpentLately(NamedTuple):
    """What an agent used; ``unpriced`` calls have no known price."""

    tokens: int
    usd: float
    unpriced: int


def messages(db: Database, since: int, until: int, parts: int) -> list[int]:
    """Return how many messages came in each of ``parts`` equal spans between two instants."""
    found = [0] * parts
    length = (until - since) / parts
    # Rows are in the order of their arrival, so the walk back ends at the first that is older.
    for (at,) in db.execute("SELECT received_at FROM inbox ORDER BY id DESC LIMIT 20000"):
        if at < since:
            break
        found[min(parts - 1, int((at - since) / length))] += 1
    return found


def spent(db: Database, since: int) -> dict[str, SpentLately]:
    """Return what each agent used since an instant."""
    rows = db.execute(
        "SELECT agent_id, sum(prompt + completion), ifnull(sum(usd), 0.0),"
        " count(*) FILTER (WHERE usd IS NULL) FROM model_call"
        " WHERE id >= ? AND at >= ? GROUP BY agent_id",
        (first_since(db, "model_call", "at", since - LATE), since),
    )
    return {str(agent): SpentLately(int(n), float(usd), int(free)) for agent, n, usd, free in rows}


class TurnInHand(NamedTuple):
    """A turn that is not over; ``call`` is the tool that runs, None while the model is asked.

    ``since`` is when that began, in milliseconds; ``state`` is ``running`` or why it waits.
    """

    turn_id: str
    agent_id: str
    chat_key: str
    state: str
    call: str | None
    since: int


def doing(db: Database) -> list[TurnInHand]:
    """Return the turns that are not over, the newest at the front, at most 100."""
    rows = db.execute(
        "SELECT id, agent_id, chat_key, iif(state = 'waiting', ifnull(wait, 'waiting'), state),"
        " (SELECT name FROM step WHERE turn_id = turn.id AND kind = 'tool'"
        "   AND state IN('planned','intent') ORDER BY seq LIMIT 1),"
        " ifnull((SELECT max(ifnull(t_end, ifnull(t_intent, t_plan))) FROM step"
        "   WHERE turn_id = turn.id), started_at)"
        f" FROM turn INDEXED BY one_open_turn WHERE {turns.OPEN} ORDER BY id DESC LIMIT 100"
    )
    return [TurnInHand(*row) for row in rows]
