"""Facts by meaning: found without a shared word, merged with words, never compared amiss."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.embeddings_api import vector
from fakes.journal import job, opened
from fakes.memory import WORK, insert_fact, insert_vector

from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import fact_vectors, facts
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.memory.memory_scope import MemoryScope
from thinker.protocol.vectors import pack_vector

VECTORS = "SELECT fact_id FROM fact_vector"
FACTS = ("User has a dog called Rex", "User likes tea", "User pays an invoice in May")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal with facts of the agent ``work``, all with their vectors."""
    with opened(tmp_path) as connection:
        for at, fact in enumerate(FACTS, 1):
            number = insert_fact(connection, WORK, fact, at)
            insert_vector(connection, "work", number, "m", pack_vector(vector(fact)))
        yield connection


def meaning(text: str, model: str = "m") -> Embedding:
    """What a text means."""
    return Embedding(model, pack_vector(vector(text)))


def found(db: Database, text: str, agent_id: str = "work", until: int = facts.FOREVER) -> list[str]:
    """The facts that fit a text by words and meaning."""
    scope = MemoryScope.for_whole_agent(agent_id)
    ids = facts.rank_facts(db, scope, text, 5, until, meaning(text))
    return [fact.fact for fact in facts.load_facts(db, scope, ids)]


def test_fact_is_found_without_a_shared_word(db: Database) -> None:
    """What has nothing to do with the question is not; another agent finds nothing."""
    assert facts.rank_facts(db, WORK, "Which animal lives here?", 5) == []
    assert found(db, "Which animal lives here?") == [FACTS[0]]
    assert found(db, "Which animal lives here?", "home") == []


def test_words_and_meaning_are_merged(db: Database) -> None:
    """What is found by its meaning counts more than what merely shares a word."""
    insert_fact(db, WORK, "The word beverage has eight letters", 9)
    assert found(db, "favourite beverage")[0] == FACTS[1]
    assert found(db, "beverage letters")[-1] == "The word beverage has eight letters"


def test_facts_of_later_are_not_found(db: Database) -> None:
    """A resumed turn has the prompt that it began with."""
    assert found(db, "thirsty", until=1) == []
    assert found(db, "thirsty", until=2) == [FACTS[1]]


def test_vectors_of_another_model_or_length_are_not_compared(db: Database) -> None:
    """They are forgotten once the new model has spoken."""
    other = meaning("pet", "n")
    longer = Embedding("m", pack_vector([1.0] * 9))
    for question in (other, longer):
        assert fact_vectors.rank_nearest_facts(db, WORK, question, 5, facts.FOREVER) == {}
    fact_vectors.delete_stale_vectors(db, "work", meaning("pet"))
    assert len(db.execute(VECTORS).fetchall()) == len(FACTS)
    fact_vectors.delete_stale_vectors(db, "work", other)
    assert db.execute(VECTORS).fetchall() == []
    insert_vector(db, "work", 1, *other)
    assert list(fact_vectors.rank_nearest_facts(db, WORK, other, 5, facts.FOREVER)) == [1]


def test_changed_or_deleted_fact_has_no_vector(db: Database) -> None:
    """It would stand for the old text."""
    db.execute("UPDATE fact SET fact = 'User likes rain' WHERE id = 2")
    assert found(db, "thirsty") == []
    insert_vector(db, "work", 2, *meaning("User likes rain"))
    assert found(db, "umbrella") == ["User likes rain"]
    db.execute("DELETE FROM fact WHERE id = 2")
    assert found(db, "umbrella") == []
    assert len(db.execute(VECTORS).fetchall()) == 2


def test_nearest_of_many_is_found(db: Database) -> None:
    """By the signs alone, before any numbers are compared."""
    rng = random.Random(1)  # noqa: S311 - the same numbers at every run, not a secret
    made: list[list[float]] = []
    with job(db):
        for number in range(400):
            kept = insert_fact(db, WORK, f"Bill number {number}", 5)
            made.append([rng.gauss(0, 1) for _ in range(64)])
            insert_vector(db, "work", kept, "g", pack_vector(made[-1]))
    for number in range(0, 400, 40):
        near = pack_vector([value + rng.gauss(0, 0.5) for value in made[number]])
        first = next(
            iter(fact_vectors.rank_nearest_facts(db, WORK, Embedding("g", near), 5, facts.FOREVER))
        )
        assert [first] == facts.rank_facts(db, WORK, f"{number}", 1)
