"""Changes of playbooks: a chat changes its own, and what belongs to all stays for the others."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.journal import opened
from fakes.memory import HOME, SKILL, WORK, own_of

from orchestrator.extensions.skills import playbook_changes
from orchestrator.extensions.skills.playbook_changes import PlaybookError
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import playbooks
from orchestrator.journal.memory.prompt_memory import load_prompt_memory

ANN, BEN = own_of("telegram:1"), own_of("telegram:2")
OPERATOR = own_of("telegram:3", shared=True)
DEFAULT = "email-triage"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal in which ``work`` has its defaults."""
    with opened(tmp_path) as connection:
        playbooks.seed_playbooks(connection, "work", 1)
        yield connection


def test_name_is_taken_once(db: Database) -> None:
    """Other agents do not have the playbook."""
    playbook_changes.add_playbook(db, WORK, SKILL, 5)
    with pytest.raises(PlaybookError, match="exists already; change it with update_skill"):
        playbook_changes.add_playbook(db, WORK, SKILL, 6)
    assert not playbook_changes.delete_playbook(db, HOME, "tea")


def test_all_of_an_agents_together_are_bounded(db: Database) -> None:
    """They go to the worker with every turn."""
    large = "x" * (playbook_changes.MAX_BYTES // 2)
    playbook_changes.add_playbook(db, WORK, replace(SKILL, name="one", instructions=large), 1)
    with pytest.raises(PlaybookError, match="2048 KiB"):
        playbook_changes.add_playbook(db, WORK, replace(SKILL, name="two", instructions=large), 1)


def test_playbook_of_a_chat_guides_that_chat_alone(db: Database) -> None:
    """Also right after a turn of the other chat was given its own."""
    playbook_changes.add_playbook(db, ANN, SKILL, 1)
    playbook_changes.add_playbook(db, BEN, replace(SKILL, instructions="Ask Ben."), 1)
    for memory, expected in ((ANN, {"Boil water."}), (BEN, {"Ask Ben."}), (OPERATOR, set())):
        for _ in range(2):
            given = load_prompt_memory(db, memory, "", ("tea",)).playbooks
            assert {item["instructions"] for item in given} == expected
    assert not playbook_changes.delete_playbook(db, OPERATOR, "tea")
    assert playbook_changes.delete_playbook(db, ANN, "tea")
    assert load_prompt_memory(db, ANN, "", ("tea",)).playbooks == ()
    assert len(load_prompt_memory(db, BEN, "", ("tea",)).playbooks) == 1


def test_default_playbook_is_changed_for_the_chat_that_changes_it(db: Database) -> None:
    """It cannot be taken from the others."""
    found = playbooks.find_playbook(db, ANN, DEFAULT)
    assert found is not None
    playbook_changes.update_playbook(
        db, ANN, replace(found, instructions="Ann's.", source="turn t1"), 2
    )
    with pytest.raises(PlaybookError, match="switch it off here with update_skill"):
        playbook_changes.delete_playbook(db, BEN, DEFAULT)
    seen = {
        memory: None
        if (item := playbooks.find_playbook(db, memory, DEFAULT)) is None
        else item.instructions
        for memory in (WORK, ANN, BEN, OPERATOR)
    }
    assert seen == {**dict.fromkeys((WORK, BEN, OPERATOR), found.instructions), ANN: "Ann's."}


def test_default_playbook_that_an_operator_changes_stays_as_bundled_for_other_chats(
    db: Database,
) -> None:
    """In the prompt, and for the tools that read and change it."""
    bundled = playbooks.find_playbook(db, BEN, DEFAULT)
    assert bundled is not None
    playbook_changes.update_playbook(
        db, OPERATOR, replace(bundled, instructions="Ours.", source="turn t2"), 3
    )
    seen = {
        memory: [
            item["instructions"]
            for item in load_prompt_memory(db, memory, "", (DEFAULT,)).playbooks
        ]
        for memory in (WORK, ANN, BEN, OPERATOR)
    }
    before = bundled.instructions
    assert seen == {WORK: ["Ours."], ANN: [before], BEN: [before], OPERATOR: ["Ours."]}
    for_tools = playbooks.find_playbook(db, BEN, DEFAULT)
    assert for_tools is not None
    assert (for_tools.instructions, for_tools.source) == (before, playbooks.SEED)


def test_default_playbook_that_an_operator_switches_off_or_deletes_is_gone_everywhere(
    db: Database,
) -> None:
    """What other chats have made of it is theirs."""
    default = playbooks.find_playbook(db, OPERATOR, DEFAULT)
    assert default is not None
    playbook_changes.update_playbook(
        db, ANN, replace(default, instructions="Ann's.", source="turn t1"), 2
    )
    playbook_changes.update_playbook(
        db, OPERATOR, replace(default, enabled=False, source="turn t2"), 3
    )
    assert load_prompt_memory(db, BEN, "", (DEFAULT,)).playbooks == ()
    assert playbook_changes.delete_playbook(db, OPERATOR, DEFAULT)
    assert playbooks.find_playbook(db, BEN, DEFAULT) is None
    assert len(load_prompt_memory(db, ANN, "", (DEFAULT,)).playbooks) == 1
