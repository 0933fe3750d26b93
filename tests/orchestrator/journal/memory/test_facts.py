"""Facts: any text may be looked for, every agent has its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import opened
from fakes.memory import HOME, WORK, insert_fact
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import facts, fulltext
from orchestrator.journal.memory.memory_scope import MemoryScope


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal with some facts of the agent ``work``."""
    with opened(tmp_path) as connection:
        for fact in (
            "User likes green tea",
            "User works at Müller GmbH",
            "用户住在上海市浦东新区",
            "ユーザーはコーヒーが好きです",
        ):
            insert_fact(connection, WORK, fact)
        yield connection


def found(db: Database, text: str, agent_id: str = "work", limit: int = 5) -> list[str]:
    """The facts that fit a text."""
    scope = MemoryScope.for_whole_agent(agent_id)
    ids = facts.rank_facts(db, scope, text, limit)
    return [item.fact for item in facts.load_facts(db, scope, ids)]


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ('Does she like "TEA"?', "User likes green tea"),
        ("teas AND NOT (coffee OR", "User likes green tea"),
        ("NEAR(green, 2) tea* ^x -y fact:z", "User likes green tea"),
        ("it's liking; DROP TABLE fact", "User likes green tea"),
        ("muller", "User works at Müller GmbH"),
        ("我在浦东新区工作", "用户住在上海市浦东新区"),
        ("コーヒーはいかが", "ユーザーはコーヒーが好きです"),
    ],
)
def test_words_are_found_whatever_stands_around_them(db: Database, text: str, fact: str) -> None:
    """Quotes, operators, word forms, accents, scripts without spaces."""
    assert found(db, text) == [fact]


@given(st.text(max_size=200))
def test_no_text_breaks_the_search(db: Database, text: str) -> None:
    """A user's message goes in as it is."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    facts.rank_facts(db, WORK, text, 5)


def test_long_text_looks_up_a_bounded_number_of_terms(db: Database) -> None:
    """The writer thread serves every chat, so no message may keep it for seconds."""
    flood = " ".join(f"w{number}" for number in range(fulltext.MAX_TERMS))
    assert found(db, f"tea {flood}") == ["User likes green tea"]
    assert found(db, f"{flood} tea") == []
    assert found(db, "tea " * 10_000) == ["User likes green tea"]


def test_best_fact_comes_first_and_the_number_is_bounded(db: Database) -> None:
    """Ranked by BM25."""
    for number in range(10):
        insert_fact(db, WORK, f"Tea cup number {number}")
    assert found(db, "green tea", limit=3)[0] == "User likes green tea"
    assert len(found(db, "green tea", limit=3)) == 3


def test_rare_word_counts_more_than_common_ones(db: Database) -> None:
    """A question has more words that most facts have than such that tell what it is about."""
    for number in range(30):
        insert_fact(db, WORK, f"This is what the user is like {number}")
    assert found(db, "What is the tea that the user likes?")[0] == "User likes green tea"


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("User has the account ann@example.com", "example"),
        ("User runs version v1.2-beta", "beta 1"),
        ("User lives at https://x.test/a_b?c=d", "a_b"),
        ("ИВАНОВСКИЙ", "ванов"),
    ],
)
def test_words_end_at_every_sign(db: Database, text: str, query: str) -> None:
    """In addresses and numbers; parts of words of other scripts are found as well."""
    insert_fact(db, WORK, text)
    assert found(db, query) == [text]


def test_agents_do_not_see_each_others_facts(db: Database) -> None:
    """Nor does a fact of one hide that of another."""
    assert found(db, "tea", "home") == []
    insert_fact(db, HOME, "User likes green tea")
    assert found(db, "tea", "home") == ["User likes green tea"]


def test_index_follows_changed_and_deleted_facts(db: Database) -> None:
    """Both indexes."""
    db.execute("UPDATE fact SET fact = 'User likes coffee' WHERE fact LIKE '%tea'")
    db.execute("DELETE FROM fact WHERE fact LIKE '%浦东%'")
    assert found(db, "green tea 浦东新区") == []
    assert found(db, "coffee") == ["User likes coffee"]
