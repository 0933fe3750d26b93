"""Facts, profile, playbooks, messages and tasks of chats that have a memory each."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.journal import opened
from fakes.memory import WORK, own_of, store_fact

from orchestrator.errors import UnknownNameError
from orchestrator.extensions.memory import fact_changes
from orchestrator.extensions.memory.fact_changes import Statement
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import (
    fact_vectors,
    facts,
    playbooks,
    profile,
)
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.journal.memory.playbooks import PlaybookError, StoredPlaybook
from orchestrator.journal.memory.prompt_memory import load_prompt_memory
from orchestrator.journal.schedule import tasks
from orchestrator.schedules.specs import TaskSpec
from thinker.protocol.vectors import pack_vector

ANN, BEN = own_of("telegram:1"), own_of("telegram:2")
OPERATOR = own_of("telegram:3", shared=True)
JOINED = MemoryScope("work", "telegram:1", joined=True, shared=True)
SKILL = StoredPlaybook(
    id=0,
    name="tea",
    description="Makes tea.",
    instructions="Boil water.",
    keywords=("tea",),
    priority=0,
    required_tools=(),
    enabled=True,
    source="turn t1",
    created_at=1,
)
DEFAULT = "email-triage"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal with a fact of all chats and one of Ann's."""
    with opened(tmp_path) as connection:
        playbooks.seed_playbooks(connection, "work", 1)
        store_fact(connection, WORK, "All like tea", "background", "test", 1)
        store_fact(connection, ANN, "Ann likes tea", "background", "test", 1)
        yield connection


def test_chat_sees_its_own_facts_and_an_operator_those_of_every_chat(db: Database) -> None:
    """By search, in lists and by number; a chat that was joined later keeps what it had."""
    seen = {
        memory: (
            {fact.fact for fact in facts.search_facts(db, memory, "tea", 9)},
            {fact.fact for fact in facts.list_newest_facts(db, memory, None, facts.FOREVER, 9)},
            {fact.fact for n in (1, 2) if (fact := facts.find_fact(db, memory, n)) is not None},
        )
        for memory in (WORK, JOINED, ANN, BEN, OPERATOR)
    }
    assert seen == {
        WORK: ({"All like tea"},) * 3,
        JOINED: ({"All like tea", "Ann likes tea"},) * 3,
        ANN: ({"Ann likes tea"},) * 3,
        BEN: (set(),) * 3,
        OPERATOR: ({"All like tea"},) * 3,
    }


def test_fact_of_another_chat_can_neither_be_changed_nor_noticed(db: Database) -> None:
    """What two chats say is stored twice, so that none learns what is known."""
    fact = facts.find_fact(db, ANN, 2)
    assert fact is not None
    changed = Statement("x", "background", "test")
    for change in (
        lambda: fact_changes.replace_fact(db, BEN, 2, changed, 2),
        lambda: fact_changes.forget_fact(db, BEN, 2, "user", 2, for_good=True),
        lambda: fact_changes.undo_change(db, BEN, 2, 2),
    ):
        with pytest.raises(UnknownNameError, match="there is no fact 2"):
            change()
    stored = store_fact(db, BEN, "Ann likes tea", "background", "test", 2)
    assert (stored.new, stored.similar) == (True, ())
    assert facts.find_fact(db, ANN, 2) == fact
    assert fact_changes.forget_fact(db, ANN, 2, "user", 2, for_good=True) == fact


def test_words_of_two_characters_and_meanings_find_only_what_is_visible(
    db: Database,
) -> None:
    """The searches without a full-text index."""
    store_fact(db, ANN, "她喜欢茶叶", "background", "test", 1)
    assert [fact.fact for fact in facts.search_facts(db, ANN, "茶叶", 5)] == ["她喜欢茶叶"]
    assert facts.search_facts(db, BEN, "茶叶", 5) == []
    vector = pack_vector([1.0, 0.0])
    lacking = fact_vectors.list_facts_without_vector(db, "work", 9)
    fact_vectors.store_vectors(db, "work", "m", [(*fact, vector) for fact in lacking])
    near = {
        memory: set(
            fact_vectors.rank_nearest_facts(db, memory, Embedding("m", vector), 9, facts.FOREVER)
        )
        for memory in (WORK, ANN, BEN, OPERATOR)
    }
    assert near == {WORK: {1}, ANN: {2, 3}, BEN: set(), OPERATOR: {1}}


def test_profile_of_a_chat_replaces_the_prompt_there_alone(db: Database) -> None:
    """An operator's begins with that of every chat, which stays as it is."""
    profile.update_profile(db, WORK, "persona.system_prompt", "Everybody's.", "turn t1", 1)
    profile.update_profile(db, ANN, "persona.system_prompt", "Ann's.", "turn t2", 2)
    prompts = {
        memory: load_prompt_memory(db, memory, "", ("*",)).profile_prompt
        for memory in (WORK, ANN, BEN, OPERATOR)
    }
    assert prompts == {WORK: "Everybody's.", ANN: "Ann's.", BEN: None, OPERATOR: "Everybody's."}
    profile.update_profile(db, OPERATOR, "name", "Ona", "turn t3", 3)
    assert profile.find_system_prompt(db, OPERATOR) == "Everybody's."
    assert profile.load_profile(db, WORK) == {"persona": {"system_prompt": "Everybody's."}}
    assert [item.source for item in profile.list_profile_changes(db, ANN, 9)] == ["turn t2"]
    assert [item.source for item in profile.list_profile_changes(db, OPERATOR, 9)] == [
        "turn t3",
        "turn t1",
    ]
    assert profile.list_profile_changes(db, BEN, 9) == []


def test_playbook_of_a_chat_guides_that_chat_alone(db: Database) -> None:
    """Also right after a turn of the other chat was given its own."""
    playbooks.add_playbook(db, ANN, SKILL, 1)
    playbooks.add_playbook(db, BEN, replace(SKILL, instructions="Ask Ben."), 1)
    for memory, expected in ((ANN, {"Boil water."}), (BEN, {"Ask Ben."}), (OPERATOR, set())):
        for _ in range(2):
            given = load_prompt_memory(db, memory, "", ("tea",)).playbooks
            assert {item["instructions"] for item in given} == expected
    assert not playbooks.delete_playbook(db, OPERATOR, "tea")
    assert playbooks.delete_playbook(db, ANN, "tea")
    assert load_prompt_memory(db, ANN, "", ("tea",)).playbooks == ()
    assert len(load_prompt_memory(db, BEN, "", ("tea",)).playbooks) == 1


def test_default_playbook_is_changed_for_the_chat_that_changes_it(db: Database) -> None:
    """It cannot be taken from the others."""
    found = playbooks.find_playbook(db, ANN, DEFAULT)
    assert found is not None
    playbooks.update_playbook(db, ANN, replace(found, instructions="Ann's.", source="turn t1"), 2)
    with pytest.raises(PlaybookError, match="switch it off here with update_skill"):
        playbooks.delete_playbook(db, BEN, DEFAULT)
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
    playbooks.update_playbook(
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
    playbooks.update_playbook(db, ANN, replace(default, instructions="Ann's.", source="turn t1"), 2)
    playbooks.update_playbook(db, OPERATOR, replace(default, enabled=False, source="turn t2"), 3)
    assert load_prompt_memory(db, BEN, "", (DEFAULT,)).playbooks == ()
    assert playbooks.delete_playbook(db, OPERATOR, DEFAULT)
    assert playbooks.find_playbook(db, BEN, DEFAULT) is None
    assert len(load_prompt_memory(db, ANN, "", (DEFAULT,)).playbooks) == 1


def test_tasks_are_those_of_the_chat_that_scheduled_them(db: Database) -> None:
    """A name that another chat has used is free."""
    spec = TaskSpec(
        name="report", instructions="x", trigger={"interval_minutes": 5}, timezone="UTC"
    )
    made = [tasks.add_task(db, memory, spec, 1) for memory in (ANN, BEN)]
    assert [task.scope for task in made] == ["telegram:1", "telegram:2"]
    assert [task.id for task in tasks.list_visible_tasks(db, ANN)] == [made[0].id]
    assert tasks.list_visible_tasks(db, OPERATOR) == []
    assert len(tasks.list_visible_tasks(db, WORK)) == len(made)
