"""Texts that are numbers in the journal have names for people."""

from orchestrator.extensions.page.reads.text_titles import load_text_titles
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import playbooks


def test_playbooks_are_called_by_name_and_agent(db: Database) -> None:
    """Whatever their numbers are."""
    with db:
        playbooks.seed_playbooks(db, "home", 1)
    titles = load_text_titles(db)
    assert titles
    assert all(name.startswith("playbooks/") for name in titles)
    assert all(title.endswith(", of home") for title in titles.values())
