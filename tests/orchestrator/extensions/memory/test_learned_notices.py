"""Notices in a chat about what its agent has remembered."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from fakes.agents_file import validate_file
from fakes.journal import connection_in, job, next_turn, receive, store_in, update
from fakes.memory import own_of
from fakes.statements import store_fact

from orchestrator.extensions.memory import learned_notices
from orchestrator.extensions.memory.learned_notices import LearnedNotices, ToldFacts
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import facts
from orchestrator.journal.turns import turns

CHAT, GROUP = own_of("telegram:7"), own_of("telegram:-9")
NOTHING = ToldFacts()
PRIVATE: Mapping[str, str] = MappingProxyType({"work": "private"})


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal with the ended turns t1 of a private chat and t2 of a group."""
    store_in(tmp_path).close()
    connection = connection_in(tmp_path)
    with job(connection):
        turns.boot(connection, 0)
    receive(connection, update(1), replace(update(2, chat_id="-9"), private=False))
    for turn_id, chat in (("t1", "7"), ("t2", "-9")):
        assert next_turn(connection, turn_id, chat) is not None
        end_turn(connection, turn_id)
    yield connection
    connection.close()


def end_turn(db: Database, turn_id: str) -> None:
    """A reply ended it."""
    with job(db):
        db.execute("UPDATE turn SET state = 'closed', ended_at = 1 WHERE id = ?", (turn_id,))


def queue(
    db: Database, told: ToldFacts = NOTHING, wanted: Mapping[str, str] = PRIVATE
) -> ToldFacts:
    """Queue the notices of what was stored since the beginning."""
    with job(db):
        return learned_notices.queue_notices(db, wanted, 0, told, 5)


def list_notices(db: Database) -> list[tuple[str, str]]:
    """Return chat and text of each, in order."""
    return db.execute("SELECT chat_id, body FROM outbox WHERE notice = 1 ORDER BY id").fetchall()


def learn(db: Database, fact: str, source: str, category: str = "background") -> None:
    """Store a fact that is found or told."""
    with job(db):
        store_fact(db, CHAT, fact, category, source)


def test_chat_is_told_once_what_was_remembered(db: Database) -> None:
    """And how to take it back."""
    learn(db, "Likes green tea.", "turn t1")
    told = queue(db)
    assert list_notices(db) == [("7", "Remembered: Likes green tea. · /memory undo 1")]
    assert queue(db, told) == told
    assert len(list_notices(db)) == 1


def test_facts_of_one_extraction_are_told_together(db: Database) -> None:
    """In the chat of its last turn; notes of the conversation are no facts."""
    for fact in ("Likes green tea.", "Has a cat."):
        learn(db, fact, "extraction t0..t1")
    learn(db, "Spoke of cats.", "extraction t0..t1", category=facts.NOTE)
    queue(db)
    told = "- Likes green tea. (1)\n- Has a cat. (2)\n/memory undo 2 takes the last one back."
    assert list_notices(db) == [("7", f"Remembered:\n{told}")]


def test_groups_are_told_only_if_that_is_wanted(db: Database) -> None:
    """As others read there."""
    learn(db, "Likes green tea.", "turn t2")
    queue(db)
    assert list_notices(db) == []
    queue(db, wanted={"work": "everywhere"})
    assert [chat for chat, _ in list_notices(db)] == ["-9"]


def test_facts_of_an_open_turn_wait_for_its_end(db: Database) -> None:
    """So that a turn has one notice, after its reply; others do not wait for it."""
    receive(db, update(3))
    assert next_turn(db, "t3", "7") is not None
    learn(db, "Likes green tea.", "turn t3")
    learn(db, "Has a black cat.", "turn t1")
    told = queue(db)
    assert told == ToldFacts(0, frozenset({2}))
    assert [text for _, text in list_notices(db)] == [
        "Remembered: Has a black cat. · /memory undo 2"
    ]
    learn(db, "Likes milk.", "turn t3")
    end_turn(db, "t3")
    assert queue(db, told) == ToldFacts(3, frozenset())
    assert len(list_notices(db)) == 2
    assert "- Likes green tea. (1)\n- Likes milk. (3)" in list_notices(db)[1][1]


@pytest.mark.parametrize("source", ["operator", "turn unknown", "extraction", "summary x"])
def test_what_no_message_of_a_chat_led_to_is_not_told(source: str, db: Database) -> None:
    """As the operator's own words, or those of a turn that is not kept."""
    learn(db, "Likes green tea.", source)
    queue(db)
    assert list_notices(db) == []


async def test_agents_that_tell_nothing_do_not_tell_it_later(tmp_path: Path, db: Database) -> None:
    """What was stored while the setting was off is old news."""
    settings: dict[str, object] = {"agentId": "work", "llmProvider": "demo"}
    file, sent, now = [validate_file({"agents": [settings]})], list[bool](), [1]
    store = store_in(tmp_path)
    notices = LearnedNotices(store, lambda: file[0], lambda: now[0], lambda: sent.append(True))
    learn(db, "Likes green tea.", "turn t1")
    now[0] = 2
    await notices.tell_new_facts()
    file[0] = validate_file({"agents": [settings | {"factExtraction": {"tell": "private"}}]})
    await notices.tell_new_facts()
    assert (list_notices(db), sent) == ([], [])
    with job(db):
        store_fact(db, CHAT, "Has a black cat.", source="turn t1", now=3)
    await notices.tell_new_facts()
    assert [text for _, text in list_notices(db)] == [
        "Remembered: Has a black cat. · /memory undo 2"
    ]
    assert sent == [True]
    store.close()
