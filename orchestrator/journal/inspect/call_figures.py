"""How often each tool was called lately, and how it went."""

from typing import NamedTuple

from orchestrator.journal.db.database import Database

LOOKED_AT = 2000  # newest turns


class CallFigures(NamedTuple):
    """The calls of a tool; ``ms`` is how long one took on average, ``last`` the newest."""

    tool: str
    calls: int
    failed: int
    ms: float | None
    last: int


def find(db: Database, since: int) -> list[CallFigures]:
    """Return the tools that were called since an instant, in the newest turns."""
    rows = db.execute(
        "SELECT name, count(*), count(*) FILTER (WHERE state IN('failed','unknown')),"
        " avg(t_end - t_intent), max(t_plan) FROM step WHERE kind = 'tool' AND t_plan >= ?"
        " AND turn_id IN (SELECT id FROM turn ORDER BY id DESC LIMIT ?) GROUP BY name"
        " ORDER BY count(*) DESC, name",
        (since, LOOKED_AT),
    )
    return [CallFigures(*row) for row in rows]
