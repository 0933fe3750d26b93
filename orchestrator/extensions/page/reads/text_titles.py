"""What texts of the journal are called, whose names are numbers."""

from collections.abc import Mapping

from orchestrator.journal.db.database import Database

MAX_TITLES = 2000  # of each kind


def load_text_titles(db: Database) -> Mapping[str, str]:
    """Return the titles of playbooks and tasks, ``NAME, of AGENT``, by names of their texts."""
    found = db.execute(
        "SELECT * FROM (SELECT 'playbooks/' || id, name, agent_id FROM playbook ORDER BY id DESC"
        " LIMIT ?) AS playbooks UNION ALL SELECT * FROM (SELECT 'tasks/' || id, name, agent_id"
        " FROM task ORDER BY id DESC LIMIT ?) AS tasks",
        (MAX_TITLES, MAX_TITLES),
    )
    return {str(text): f"{name}, of {agent_id}" for text, name, agent_id in found}
