"""What the journal has for a prompt: playbooks as they are, though they are put together once."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.journal import job, opened
from fakes.memory import WORK

from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import playbooks
from orchestrator.journal.memory.prompt_memory import load_prompt_memory

TEA = replace(
    playbooks.load_default_playbooks()[0],
    name="tea",
    instructions="Boil water.",
    source="turn t1",
    created_at=5,
)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal in which ``work`` has its defaults, which a turn was given."""
    with opened(tmp_path) as connection:
        playbooks.seed_playbooks(connection, "work", 1)
        assert given(connection, "tea") is None
        yield connection


def given(db: Database, name: str, until: int = 9) -> object:
    """The instructions of a playbook as a turn is given them; None if it is not."""
    found = load_prompt_memory(db, WORK, "", ("*",), until).playbooks
    return next((item["instructions"] for item in found if item["name"] == name), None)


def test_turn_is_given_playbooks_as_they_are_now(db: Database) -> None:
    """Made, changed, switched off and deleted ones."""
    playbooks.insert_playbook(db, WORK, TEA, 5)
    assert given(db, "tea") == "Boil water."
    db.execute("UPDATE playbook SET instructions = 'Boil milk.' WHERE name = 'tea'")
    assert given(db, "tea") == "Boil milk."
    db.execute("UPDATE playbook SET enabled = 0 WHERE name = 'tea'")
    assert given(db, "tea") is None
    db.execute("UPDATE playbook SET enabled = 1 WHERE name = 'tea'")
    assert given(db, "tea") == "Boil milk."
    db.execute("DELETE FROM playbook WHERE name = 'tea'")
    assert given(db, "tea") is None


def test_change_that_was_taken_back_is_given_to_nobody(db: Database) -> None:
    """Also if a turn was given it meanwhile."""
    with job(db):
        db.execute("SAVEPOINT job")
        playbooks.insert_playbook(db, WORK, TEA, 5)
        assert given(db, "tea") == "Boil water."
        db.execute("ROLLBACK TO job")
        assert given(db, "tea") is None


def test_playbook_made_since_a_turn_began_is_not_in_it(db: Database) -> None:
    """Whichever turn is looked at first."""
    playbooks.insert_playbook(db, WORK, TEA, 5)
    assert given(db, "tea", until=4) is None
    assert given(db, "tea", until=5) == "Boil water."
    assert given(db, "tea", until=4) is None


def test_globs_of_skills_are_those_of_the_turn(db: Database) -> None:
    """They may change while the playbooks do not."""
    playbooks.insert_playbook(db, WORK, TEA, 5)
    assert given(db, "tea") == "Boil water."
    assert load_prompt_memory(db, WORK, "", ("coffee*",)).playbooks == ()


def test_forgotten_agent_begins_anew(db: Database) -> None:
    """Nothing is left that says what it had."""
    playbooks.insert_playbook(db, WORK, TEA, 5)
    db.execute("DELETE FROM playbook WHERE agent_id = 'work'")
    db.execute("DELETE FROM playbook_seed WHERE agent_id = 'work'")
    assert playbooks.load_states(db, WORK) == {}
    assert given(db, "tea") is None
