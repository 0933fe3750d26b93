"""Questions put to the search, with what it found and why."""

from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from fakes.journal import job, opened
from fakes.memory import own_of
from fakes.said import DAY, FIRST, store_conversations

from orchestrator.extensions.memory import message_index, probes, search_trial
from orchestrator.extensions.memory.probes import Probe
from orchestrator.extensions.memory.search_trial import ProbeResult
from orchestrator.journal.db.database import Database

CHAT, ZONE = own_of("telegram:7"), ZoneInfo("Europe/Berlin")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal with an indexed conversation, and one of another chat that has the same words."""
    with opened(tmp_path) as connection:
        store_conversations(connection, "telegram:7")
        store_conversations(connection, "telegram:8")
        with job(connection):
            while message_index.index_new_messages(connection):
                pass
        yield connection


def ask(db: Database, question: str) -> ProbeResult:
    """Ask a question in the chat."""
    return search_trial.run_probe(db, CHAT, Probe(question), ZONE)


def test_messages_are_found_by_half_of_their_words(db: Database) -> None:
    """First of all, and within what an agent reads."""
    picked = probes.pick_probes(db, "work", "telegram:7", FIRST + 100 * DAY, 10)
    results = [search_trial.run_probe(db, CHAT, probe, ZONE) for probe in picked]
    assert [result.rank for result in results] == [1] * 10
    assert all(result.shown and result.tokens <= 1500 for result in results)


def test_result_says_which_words_matched_and_how_the_score_is_made(db: Database) -> None:
    """A rare word weighs more; the parts add up."""
    result = ask(db, "Which gate does the ferry to Naxos leave from in May 2026?")
    best = result.found[0]
    assert {"ferry", "naxos", "gate"} <= {*best.matched}
    assert best.score == pytest.approx(sum(best.parts), abs=0.03)
    assert best.parts.words == 1.0
    assert best.parts.date > 0
    assert f"m{best.handle[1:]} " in "\n".join(best.lines)
    weights = {one.word: one for one in result.words}
    assert weights["naxos"].messages == 1
    assert weights["naxos"].weight > 1
    assert (result.rank, result.shown, result.expected) == (None, None, None)


def test_message_that_is_not_found_has_no_rank(db: Database) -> None:
    """Nor has one of another chat."""
    (probe,) = probes.pick_probes(db, "work", "telegram:8", FIRST + DAY + 1, 1)
    missed = search_trial.run_probe(db, CHAT, probe, ZONE)
    assert (missed.rank, missed.shown, missed.indexed) == (None, False, True)
    assert ask(db, "zeppelin").found == ()
    assert ask(db, "").found == ()


def test_message_without_an_index_is_named(tmp_path: Path) -> None:
    """As in a journal of an earlier version that a daemon has not worked through."""
    with opened(tmp_path) as db:
        store_conversations(db, "telegram:7")
        (probe,) = probes.pick_probes(db, None, None, FIRST + 2 * DAY, 1)
        assert not search_trial.run_probe(db, CHAT, probe, ZONE).indexed
