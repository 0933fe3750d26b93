"""The key of a journal, by which its nodes know each other."""

from orchestrator.journal.db.database import Database

NAME = "node_key"  # in `meta`


def load_node_key(db: Database, fresh: str) -> str:
    """Return the key; ``fresh`` becomes the first one."""
    db.execute("INSERT INTO meta VALUES(?,?) ON CONFLICT DO NOTHING", (NAME, fresh))
    return str(db.execute("SELECT v FROM meta WHERE k = ?", (NAME,)).get)
