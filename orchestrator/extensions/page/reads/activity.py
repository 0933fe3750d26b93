"""Recent activity in numbers."""

from typing import NamedTuple

from orchestrator.extensions.page.reads.spending_days import LATE
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.row_times import find_first_row_since
from orchestrator.journal.turns import turns

HOUR = 3_600_000  # milliseconds


class RecentSpending(NamedTuple):
    """An agent's usage; ``unpriced`` calls have no known price, ``hours`` are tokens by hour."""

    tokens: int
    usd: float
    unpriced: int
    hours: tuple[int, ...] = ()


def count_arrivals(db: Database, since: int, until: int, parts: int) -> list[int]:
    """Count the messages that arrived in each of ``parts`` equal spans between two instants."""
    found = [0] * parts
    length = (until - since) / parts
    rows = db.execute(
        "SELECT received_at FROM inbox WHERE id >= ? AND received_at >= ?"
        " ORDER BY id DESC LIMIT 20000",
        (find_first_row_since(db, "inbox", since), since),
    )
    for (at,) in rows:
        found[min(parts - 1, int((at - since) / length))] += 1
    return found


def count_messages_since(db: Database, since: int) -> dict[str, int]:
    """Count the messages that arrived since an instant, by their state."""
    rows = db.execute(
        "SELECT state, count(*) FROM inbox WHERE id >= ? AND received_at >= ? GROUP BY state",
        (find_first_row_since(db, "inbox", since), since),
    )
    return {str(state): int(number) for state, number in rows}


def sum_agent_spending(db: Database, since: int, hours: int = 24) -> dict[str, RecentSpending]:
    """Return each agent's usage in a number of hours that begin at an instant."""
    rows = db.execute(
        "SELECT agent_id, (at - ?2) / ?3, sum(prompt + completion), ifnull(sum(usd), 0.0),"
        " count(*) FILTER (WHERE usd IS NULL) FROM model_call"
        " WHERE id >= ?1 AND at >= ?2 GROUP BY 1, 2",
        (find_first_row_since(db, "model_call", since - LATE), since, HOUR),
    )
    found: dict[str, RecentSpending] = {}
    for agent, hour, tokens, usd, free in rows:
        known = found.get(str(agent), RecentSpending(0, 0.0, 0, (0,) * hours))
        slots = list(known.hours)
        slots[min(hours - 1, int(hour))] += int(tokens)
        found[str(agent)] = RecentSpending(
            known.tokens + int(tokens),
            known.usd + float(usd),
            known.unpriced + int(free),
            tuple(slots),
        )
    return found


class TurnInProgress(NamedTuple):
    """An open turn; ``call`` is its running tool, or None while the model is called.

    ``since`` is when that began, in milliseconds; ``state`` is ``running`` or why it waits.
    """

    turn_id: str
    agent_id: str
    chat_key: str
    state: str
    call: str | None
    since: int


def list_open_turns(db: Database) -> list[TurnInProgress]:
    """Return at most 100 open turns, newest first."""
    rows = db.execute(
        "SELECT id, agent_id, chat_key, iif(state = 'waiting', ifnull(wait, 'waiting'), state),"
        " (SELECT name FROM step WHERE turn_id = turn.id AND kind = 'tool'"
        "   AND state IN('planned','intent') ORDER BY seq LIMIT 1),"
        " ifnull((SELECT max(ifnull(t_end, ifnull(t_intent, t_plan))) FROM step"
        "   WHERE turn_id = turn.id), started_at)"
        f" FROM turn INDEXED BY one_open_turn WHERE {turns.OPEN} ORDER BY id DESC LIMIT 100"
    )
    return [TurnInProgress(*row) for row in rows]
