"""What an agent may spend more today, in the journal's table of single values.

Where: is a budget extended for a day?
"""

from orchestrator.journal.db.database import Database

KEY = "budget_extension {}"  # with the agent's id


def find_extension(db: Database, agent_id: str, day: int) -> float:
    """Return the dollars that were added on the day that began then, in milliseconds."""
    found = db.execute("SELECT v FROM meta WHERE k = ?", (KEY.format(agent_id),)).get
    began, _, usd = str(found or "").partition(" ")
    return float(usd) if began == str(day) else 0.0


def store_extension(db: Database, agent_id: str, day: int, usd: float) -> None:
    """Store all dollars that are added on that day, in place of those of another one."""
    db.execute(
        "INSERT INTO meta VALUES(?,?) ON CONFLICT(k) DO UPDATE SET v = excluded.v",
        (KEY.format(agent_id), f"{day} {round(usd, 6)}"),
    )
