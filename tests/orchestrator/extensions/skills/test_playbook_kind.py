"""Playbooks are changed in the journal as their texts say, and never on an older text."""

import json

import pytest
from fakes.scheduler import NOON

from orchestrator.editable import TextChangedError
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.skills import playbook_kind
from orchestrator.extensions.skills.playbook_kind import (
    PlaybookChange,
    WrittenPlaybook,
    change_playbook,
)
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.journal.memory.playbooks import find_playbook

TEA = {"agent": "work", "name": "tea", "description": "Makes tea.", "instructions": "1. Boil."}


def written(**fields: object) -> WrittenPlaybook:
    """A playbook as a text says it."""
    return WrittenPlaybook.model_validate({**TEA, **fields})


def text_of(db: Database, number: int) -> str:
    """The text of a playbook."""
    found = playbook_kind.find_written(db, number)
    return "" if found is None else playbook_kind.format_playbook(found)


def test_playbook_is_stored_changed_and_deleted(db: Database) -> None:
    """One that comes back has the id that it had."""
    number = change_playbook(db, PlaybookChange(None, None, written(), "web:anna"), NOON)
    first = text_of(db, number)
    assert json.loads(first)["keywords"] == []
    change = PlaybookChange(number, first, written(keywords=["Tea"], name="green-tea"), "operator")
    change_playbook(db, change, NOON)
    found = find_playbook(db, MemoryScope.for_whole_agent("work"), "green-tea")
    assert found is not None
    assert (found.id, found.keywords, found.origin) == (number, ("tea",), "operator")
    change_playbook(db, PlaybookChange(number, text_of(db, number), None, "operator"), NOON)
    assert text_of(db, number) == ""
    assert change_playbook(db, PlaybookChange(number, None, written(), "operator"), NOON) == number
    assert text_of(db, number) == first


def test_playbook_that_changed_meanwhile_stays(db: Database) -> None:
    """An agent was faster."""
    number = change_playbook(db, PlaybookChange(None, None, written(), "web:anna"), NOON)
    late = PlaybookChange(number, "an older text", written(priority=3), "web:bob")
    with pytest.raises(TextChangedError, match="changed meanwhile"):
        change_playbook(db, late, NOON)


def test_playbook_is_not_renamed_to_a_name_that_is_taken(db: Database) -> None:
    """Both stay, and a name that only another chat uses is free."""
    number = change_playbook(db, PlaybookChange(None, None, written(), "web:anna"), NOON)
    other = written(name="mate")
    change_playbook(db, PlaybookChange(None, None, other, "web:anna"), NOON)
    away = written(name="coffee", chat="telegram:9")
    change_playbook(db, PlaybookChange(None, None, away, "web:anna"), NOON)
    first = text_of(db, number)
    with pytest.raises(OrchestratorError, match="'mate' exists already; choose another name"):
        change_playbook(db, PlaybookChange(number, first, other, "web:anna"), NOON)
    assert text_of(db, number) == first
    change_playbook(db, PlaybookChange(number, first, written(name="coffee"), "web:anna"), NOON)
    assert json.loads(text_of(db, number))["name"] == "coffee"


def test_playbook_of_one_chat_stays_its_own(db: Database) -> None:
    """Other chats of the agent do not see it."""
    own = written(chat="telegram:9")
    change_playbook(db, PlaybookChange(None, None, own, "web:anna"), NOON)
    assert find_playbook(db, MemoryScope.for_whole_agent("work"), "tea") is None
    assert find_playbook(db, own.memory, "tea") is not None


def test_change_is_said_in_words() -> None:
    """Each field that changes has a sentence."""
    old, new = (json.dumps(TEA | more) for more in ({}, {"keywords": ["tea"], "enabled": False}))
    assert playbook_kind.describe_playbook_change(old, new) == [
        "playbook tea of work: keywords none → tea",
        "playbook tea of work: enabled on → off",
    ]
    assert playbook_kind.describe_playbook_change(old, None) == ["playbook tea of work is deleted"]
