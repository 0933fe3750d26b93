"""Facts, profile, playbooks, messages and tasks of chats that have a memory each."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.journal import opened
from fakes.memory import SKILL, WORK, insert_fact, insert_profile, insert_vector, own_of

from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import (
    fact_vectors,
    facts,
    playbooks,
)
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.journal.memory.prompt_memory import load_prompt_memory
from orchestrator.journal.schedule import tasks
from orchestrator.schedules.specs import TaskSpec
from thinker.protocol.vectors import pack_vector

ANN, BEN = own_of("telegram:1"), own_of("telegram:2")
OPERATOR = own_of("telegram:3", shared=True)
JOINED = MemoryScope("work", "telegram:1", joined=True, shared=True)
DEFAULT = "email-triage"
CHANGE, SWITCH_OFF, DELETE = (  # the default, as an operator does
    f"{change} WHERE name = 'email-triage' AND scope = ''"
    for change in (
        "UPDATE playbook SET instructions = 'Ours.', source = 'turn t2'",
        "UPDATE playbook SET enabled = 0",
        "DELETE FROM playbook",
    )
)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal with a fact of all chats and one of Ann's."""
    with opened(tmp_path) as connection:
        playbooks.seed_playbooks(connection, "work", 1)
        insert_fact(connection, WORK, "All like tea")
        insert_fact(connection, ANN, "Ann likes tea")
        yield connection


def known(db: Database, memory: MemoryScope, text: str) -> list[str]:
    """The facts that fit a text, for a turn of a chat."""
    ids = facts.rank_facts(db, memory, text, 9)
    return [fact.fact for fact in facts.load_facts(db, memory, ids)]


def test_chat_sees_its_own_facts_and_an_operator_those_of_every_chat(db: Database) -> None:
    """By search and by number; a chat that was joined later keeps what it had."""
    seen = {
        memory: (
            set(known(db, memory, "tea")),
            {fact.fact for n in (1, 2) if (fact := facts.find_fact(db, memory, n)) is not None},
        )
        for memory in (WORK, JOINED, ANN, BEN, OPERATOR)
    }
    assert seen == {
        WORK: ({"All like tea"},) * 2,
        JOINED: ({"All like tea", "Ann likes tea"},) * 2,
        ANN: ({"Ann likes tea"},) * 2,
        BEN: (set(),) * 2,
        OPERATOR: ({"All like tea"},) * 2,
    }


def test_words_of_two_characters_and_meanings_find_only_what_is_visible(
    db: Database,
) -> None:
    """The searches without a full-text index."""
    insert_fact(db, ANN, "她喜欢茶叶")
    assert known(db, ANN, "茶叶") == ["她喜欢茶叶"]
    assert known(db, BEN, "茶叶") == []
    vector = pack_vector([1.0, 0.0])
    for number in (1, 2, 3):
        insert_vector(db, "work", number, "m", vector)
    near = {
        memory: set(
            fact_vectors.rank_nearest_facts(db, memory, Embedding("m", vector), 9, facts.FOREVER)
        )
        for memory in (WORK, ANN, BEN, OPERATOR)
    }
    assert near == {WORK: {1}, ANN: {2, 3}, BEN: set(), OPERATOR: {1}}


def test_profile_of_a_chat_replaces_the_prompt_there_alone(db: Database) -> None:
    """An operator's begins with that of every chat."""
    insert_profile(db, WORK, {"persona": {"system_prompt": "Everybody's."}})
    insert_profile(db, ANN, {"persona": {"system_prompt": "Ann's."}})
    prompts = {
        memory: load_prompt_memory(db, memory, "", ("*",)).profile_prompt
        for memory in (WORK, ANN, BEN, OPERATOR)
    }
    assert prompts == {WORK: "Everybody's.", ANN: "Ann's.", BEN: None, OPERATOR: "Everybody's."}


def guided(db: Database, memory: MemoryScope, name: str) -> list[object]:
    """The instructions of the playbook of a name in a turn of a chat."""
    given = load_prompt_memory(db, memory, "", (name,)).playbooks
    return [item["instructions"] for item in given]


def test_playbook_of_a_chat_guides_that_chat_alone(db: Database) -> None:
    """Also right after a turn of the other chat was given its own."""
    playbooks.insert_playbook(db, ANN, SKILL, 1)
    playbooks.insert_playbook(db, BEN, replace(SKILL, instructions="Ask Ben."), 1)
    for memory, expected in ((ANN, ["Boil water."]), (BEN, ["Ask Ben."]), (OPERATOR, [])):
        for _ in range(2):
            assert guided(db, memory, "tea") == expected


def test_changed_default_playbook_stays_as_bundled_for_other_chats(db: Database) -> None:
    """Unless it was switched off or deleted; what a chat has made of it is its own."""
    (before,) = guided(db, BEN, DEFAULT)
    playbooks.insert_playbook(db, ANN, replace(SKILL, name=DEFAULT), 2)
    db.execute(CHANGE)
    seen = {memory: guided(db, memory, DEFAULT) for memory in (WORK, ANN, BEN, OPERATOR)}
    assert seen == {WORK: ["Ours."], ANN: ["Boil water."], BEN: [before], OPERATOR: ["Ours."]}
    for change in (SWITCH_OFF, DELETE):
        db.execute(change)
        assert guided(db, BEN, DEFAULT) == []
        assert guided(db, ANN, DEFAULT) == ["Boil water."]


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
