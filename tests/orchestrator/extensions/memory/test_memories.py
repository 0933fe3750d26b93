"""The memory of all agents, as people look at it and change it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import opened
from fakes.memory import WORK, insert_fact, own_of

from orchestrator.errors import UnknownNameError
from orchestrator.extensions.memory import memories, profile_changes
from orchestrator.extensions.memory.memories import FactQuery, ProfileEdit
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.profile import ProfileError

NOW = 1_774_000_000_000  # milliseconds


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """An empty journal."""
    with opened(tmp_path) as connection:
        yield connection


def test_words_find_facts_of_every_memory(db: Database) -> None:
    """Without words, all are listed."""
    insert_fact(db, WORK, "Ann drinks green tea")
    insert_fact(db, own_of("telegram:1"), "Ben likes coffee")
    found = memories.load_fact_page(db, FactQuery(text="tea"), NOW)
    assert [fact.fact for fact in found.facts] == ["Ann drinks green tea"]
    assert len(memories.load_fact_page(db, FactQuery(), NOW).facts) == 2


def test_profile_is_corrected_by_the_operator(db: Database) -> None:
    """The change has its source; an empty text removes the field."""
    profile_changes.update_profile(db, own_of("telegram:1"), "persona.name", "Ana", "turn t1", 1)
    edit = ProfileEdit(agent="work", chat="telegram:1", path="persona.name", text="Ann")
    memories.edit_profile(db, edit, NOW)
    (field,) = memories.load_profile_page(db, FactQuery(agent="work")).fields
    assert (field.value, field.source, field.at) == ("Ann", "operator", NOW)
    memories.edit_profile(db, edit.model_copy(update={"text": ""}), NOW)
    left = memories.load_profile_page(db, FactQuery(agent="work")).fields
    assert [field.value for field in left] == [{}]


def test_profile_takes_no_secret_and_no_one_elses_name(db: Database) -> None:
    """As a tool of an agent, so a person on the page."""
    profile_changes.update_profile(db, own_of("telegram:1"), "persona.name", "Ann", "turn t1", 1)
    secret = ProfileEdit(agent="work", chat="telegram:1", path="wifi.password", text="hunter2")
    with pytest.raises(ProfileError, match="secrets are never remembered"):
        memories.edit_profile(db, secret, NOW)
    with pytest.raises(UnknownNameError, match="no such profile"):
        memories.edit_profile(db, secret.model_copy(update={"chat": "telegram:2"}), NOW)
