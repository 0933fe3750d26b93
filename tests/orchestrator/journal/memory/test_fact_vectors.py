"""Facts by meaning: found without a shared word, merged with words, never compared amiss."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.embeddings_api import vector
from fakes.journal import job, opened
from fakes.memory import WORK, store_fact

from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import fact_vectors, facts
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.memory.memory_scope import MemoryScope
from thinker.protocol.vectors import pack_vector

FACTS = ("User has a dog called Rex", "User likes tea", "User pays an invoice in May")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal with facts of the agent ``work``, all with their vectors."""
    with opened(tmp_path) as connection:
        for at, fact in enumerate(FACTS, 1):
            store_fact(connection, WORK, fact, "background", "test", at)
        embed(connection)
        yield connection


def embed(db: Database, model: str = "m") -> None:
    """Give every fact that lacks one its vector."""
    found = fact_vectors.list_facts_without_vector(db, "work", 100)
    fact_vectors.store_vectors(
        db, "work", model, [(*fact, pack_vector(vector(fact[1]))) for fact in found]
    )


def meaning(text: str, model: str = "m") -> Embedding:
    """What a text means."""
    return Embedding(model, pack_vector(vector(text)))


def found(db: Database, text: str, agent_id: str = "work", until: int = facts.FOREVER) -> list[str]:
    """The facts that fit a text by words and meaning."""
    found = facts.search_facts(
        db, MemoryScope.for_whole_agent(agent_id), text, 5, until, meaning(text)
    )
    return [fact.fact for fact in found]


def test_fact_is_found_without_a_shared_word(db: Database) -> None:
    """What has nothing to do with the question is not; another agent finds nothing."""
    assert facts.search_facts(db, WORK, "Which animal lives here?", 5) == []
    assert found(db, "Which animal lives here?") == [FACTS[0]]
    assert found(db, "Which animal lives here?", "home") == []


def test_words_and_meaning_are_merged(db: Database) -> None:
    """What is found by its meaning counts more than what merely shares a word."""
    store_fact(
        db,
        WORK,
        "The word beverage has eight letters",
        "background",
        "test",
        9,
    )
    assert found(db, "favourite beverage")[0] == FACTS[1]
    assert found(db, "beverage letters")[-1] == "The word beverage has eight letters"


def test_facts_of_later_are_not_found(db: Database) -> None:
    """A resumed turn has the prompt that it began with."""
    assert found(db, "thirsty", until=1) == []
    assert found(db, "thirsty", until=2) == [FACTS[1]]


def test_vectors_of_another_model_or_length_are_not_compared(db: Database) -> None:
    """They are forgotten once the new model has spoken, and made anew."""
    other = meaning("pet", "n")
    longer = Embedding("m", pack_vector([1.0] * 9))
    for question in (other, longer):
        assert fact_vectors.rank_nearest_facts(db, WORK, question, 5, facts.FOREVER) == {}
    fact_vectors.delete_stale_vectors(db, "work", meaning("pet"))
    assert fact_vectors.list_facts_without_vector(db, "work", 9) == []
    fact_vectors.delete_stale_vectors(db, "work", other)
    assert [number for number, _ in fact_vectors.list_facts_without_vector(db, "work", 2)] == [3, 2]
    embed(db, "n")
    assert list(fact_vectors.rank_nearest_facts(db, WORK, other, 5, facts.FOREVER)) == [1]


def test_changed_fact_has_no_vector_until_it_is_made_anew(db: Database) -> None:
    """Also when the change comes while the model is asked; a deleted one leaves nothing."""
    stale = fact_vectors.list_facts_without_vector(db, "work", 9)
    fact = facts.find_fact(db, WORK, 2)
    assert (stale, fact) == ([], fact)
    assert fact is not None
    db.execute("UPDATE fact SET fact = 'User likes rain' WHERE id = 2")
    fact_vectors.store_vectors(db, "work", "m", [(2, FACTS[1], pack_vector(vector(FACTS[1])))])
    assert fact_vectors.list_facts_without_vector(db, "work", 9) == [(2, "User likes rain")]
    embed(db)
    assert found(db, "umbrella") == ["User likes rain"]
    db.execute("DELETE FROM fact WHERE id = 2")
    assert found(db, "umbrella") == []
    assert db.execute("SELECT count(*) FROM fact_vector").get == 2


def test_nearest_of_many_is_found(db: Database) -> None:
    """By the signs alone, before any numbers are compared."""
    rng = random.Random(1)  # noqa: S311 - the same numbers at every run, not a secret
    made: list[list[float]] = []
    with job(db):
        for number in range(400):
            kept = store_fact(db, WORK, f"Bill number {number}", "background", "test", 5)
            made.append([rng.gauss(0, 1) for _ in range(64)])
            fact_vectors.store_vectors(
                db, "work", "g", [(kept.id, f"Bill number {number}", pack_vector(made[-1]))]
            )
    for number in range(0, 400, 40):
        near = pack_vector([value + rng.gauss(0, 0.5) for value in made[number]])
        first = next(
            iter(fact_vectors.rank_nearest_facts(db, WORK, Embedding("g", near), 5, facts.FOREVER))
        )
        assert facts.find_fact(db, WORK, first) == facts.search_facts(db, WORK, f"{number}", 1)[0]
