"""The facts that a chat may list and search."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import opened
from fakes.memory import WORK, insert_fact, own_of
from fakes.statements import store_fact

from orchestrator.errors import UnknownNameError
from orchestrator.extensions.memory import fact_changes, fact_reads
from orchestrator.extensions.memory.fact_changes import Statement
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import facts
from orchestrator.journal.memory.memory_scope import MemoryScope

ANN, BEN = own_of("telegram:1"), own_of("telegram:2")
OPERATOR = own_of("telegram:3", shared=True)
JOINED = MemoryScope("work", "telegram:1", joined=True, shared=True)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal with a fact of all chats and one of Ann's."""
    with opened(tmp_path) as connection:
        insert_fact(connection, WORK, "All like tea")
        insert_fact(connection, ANN, "Ann likes tea")
        yield connection


def test_chat_sees_its_own_facts_and_an_operator_those_of_every_chat(db: Database) -> None:
    """By search, in lists and by number; a chat that was joined later keeps what it had."""
    seen = {
        memory: (
            {fact.fact for fact in fact_reads.search_facts(db, memory, "tea", 9)},
            {
                fact.fact
                for fact in fact_reads.list_newest_facts(db, memory, None, facts.FOREVER, 9)
            },
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
