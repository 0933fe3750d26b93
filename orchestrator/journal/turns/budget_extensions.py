"""What an agent may spend more today, in the journal's table of single values.

Where: is a budget extended for a day?
"""

from orchestrator.journal.db.database import Database

KEY = "budget_extension {}"  # with the agent's id; the value is the day's beginning and the dollars


def find_extension(db: Database, agent_id: str, day: int) -> float:
    """Return the dollars that were added on the day that began then, in milliseconds."""
    found = db.execute("SELECT v FROM meta WHERE k = ?", (KEY.format(agent_id),)).get
    began, _, usd = str(found or "").partition(" ")
    return float(usd) if began == str(day) else 0.0
