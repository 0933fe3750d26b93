"""Facts without a vector get one, unless their text changes meanwhile."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.embeddings_api import vector
from fakes.journal import opened
from fakes.memory import WORK, insert_fact

from orchestrator.extensions.memory import embedded_facts
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import fact_vectors, facts
from orchestrator.journal.memory.fact_vectors import Embedding
from thinker.protocol.vectors import pack_vector

FACTS = ("User has a dog called Rex", "User likes tea", "User pays an invoice in May")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal with facts of the agent ``work``, all with their vectors."""
    with opened(tmp_path) as connection:
        for fact in FACTS:
            insert_fact(connection, WORK, fact)
        embed(connection)
        yield connection


def embed(db: Database, model: str = "m") -> None:
    """Give every fact that lacks one its vector."""
    found = [(*fact, embed_text(fact[1])) for fact in lacking(db)]
    embedded_facts.store_vectors(db, "work", model, found)


def embed_text(text: str) -> bytes:
    """What a text means."""
    return pack_vector(vector(text))


def lacking(db: Database, limit: int = 9) -> list[tuple[int, str]]:
    """The facts without a vector."""
    return embedded_facts.list_facts_without_vector(db, "work", limit)


def test_vectors_of_another_model_are_made_anew(db: Database) -> None:
    """The newest first."""
    other = Embedding("n", embed_text("pet"))
    assert lacking(db) == []
    fact_vectors.delete_stale_vectors(db, "work", other)
    assert [number for number, _ in lacking(db, 2)] == [3, 2]
    embed(db, "n")
    assert list(fact_vectors.rank_nearest_facts(db, WORK, other, 5, facts.FOREVER)) == [1]


def test_changed_fact_has_no_vector_until_it_is_made_anew(db: Database) -> None:
    """Also when the change comes while the model is asked."""
    db.execute("UPDATE fact SET fact = 'User likes rain' WHERE id = 2")
    embedded_facts.store_vectors(db, "work", "m", [(2, FACTS[1], embed_text(FACTS[1]))])
    assert lacking(db) == [(2, "User likes rain")]
    embed(db)
    meaning = Embedding("m", embed_text("umbrella"))
    assert list(fact_vectors.rank_nearest_facts(db, WORK, meaning, 5, facts.FOREVER)) == [2]
