"""The skills that agents and their users have stored, for ``orchestrator skills``."""

from dataclasses import dataclass

from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.memory import playbooks


@dataclass(frozen=True)
class StoredSkill:
    """A skill that was stored for an agent; ``scope`` is its chat, empty for all chats."""

    agent_id: str
    scope: str
    name: str
    description: str
    source: str


SKILLS = Rows(StoredSkill, "playbook")


def list_stored_skills(db: Database) -> list[StoredSkill]:
    """Return the enabled skills that agents and their users have stored."""
    return SKILLS.select(db, "source <> ? AND enabled = 1 ORDER BY name, agent_id", playbooks.SEED)
