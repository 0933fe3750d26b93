"""Count recent calls of each tool, and their outcomes."""

from typing import NamedTuple

from orchestrator.journal.db.database import Database

MAX_TURNS = 2000  # newest turns


class CallFigures(NamedTuple):
    """The calls of a tool; ``ms`` is their average duration, ``last`` the newest."""

    tool: str
    calls: int
    failed: int
    ms: float | None
    last: int


def list_call_figures(db: Database, since: int) -> list[CallFigures]:
    """Return the tools that the newest turns called since an instant."""
    rows = db.execute(
        "SELECT name, count(*), count(*) FILTER (WHERE state IN('failed','unknown')),"
        " avg(t_end - t_intent), max(t_plan) FROM step WHERE kind = 'tool' AND t_plan >= ?"
        " AND turn_id IN (SELECT id FROM turn ORDER BY id DESC LIMIT ?) GROUP BY name"
        " ORDER BY count(*) DESC, name",
        (since, MAX_TURNS),
    )
    return [CallFigures(*row) for row in rows]
