"""The list of chats says who, what and when."""

from dataclasses import replace
from pathlib import Path

from fakes.ended_turn import began, called, replied
from fakes.journal import booted, job, receive, update

from orchestrator.extensions.page.reads import chat_entries
from orchestrator.journal.access import pairing
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect.chat_history import PAGE
from orchestrator.journal.turns import inbox
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.journal.turns.outbox import Address

OWN = "web/local/ann/1/"


def write_on_page(db: Database, number: int, text: str) -> None:
    """A message to a chat of the page."""
    message = replace(update(number, text, "ann/1"), channel="web", bot_id="local", update_id=None)
    with job(db):
        inbox.ingest(db, [Arrival(message)], None, number)


def test_chat_shows_its_agent_and_the_answer_as_last_words(tmp_path: Path) -> None:
    """Until a person writes again."""
    with booted(tmp_path) as db:
        turn = began(db, 1)
        called(db, turn)
        (asked,) = chat_entries.list_chat_entries(db)
        assert (asked.agent_id, asked.state, asked.answered) == ("work", "running", False)
        replied(db, turn)
        (entry,) = chat_entries.list_chat_entries(db)
        assert (entry.state, entry.end, entry.answered) == ("replied", "done", True)
        assert entry.at > asked.at


def test_chat_of_the_page_is_called_by_its_first_message(tmp_path: Path) -> None:
    """However long it went on."""
    with booted(tmp_path) as db:
        write_on_page(db, 1, "plan a trip")
        write_on_page(db, 2, "and a hotel")
        (entry,) = chat_entries.list_chat_entries(db)
        assert (entry.opening, entry.text) == ("plan a trip", "and a hotel")
        assert chat_entries.find_opening(db, OWN) == "plan a trip"
        assert chat_entries.find_opening(db, "web/local/ann/2/") == ""


def test_chat_that_is_not_let_in_shows_what_it_wrote(tmp_path: Path) -> None:
    """Its messages have no text of their own yet."""
    with booted(tmp_path) as db:
        message = update(1, "let me in", "9")
        with job(db):
            inbox.ingest(db, [Arrival(message, "not paired yet", held=True)], None, 0)
        (entry,) = chat_entries.list_chat_entries(db)
        assert (entry.held, entry.text) == (True, "let me in")
        assert chat_entries.list_held_texts(db, "telegram", "9") == ["let me in"]
        assert list(chat_entries.load_held_texts(db, [1, 2]).values()) == ["let me in"]


def test_refused_chat_says_that_its_words_are_gone(tmp_path: Path) -> None:
    """They are no file, and wait for no one."""
    with booted(tmp_path) as db:
        message = update(1, "let me in", "9")
        with job(db):
            inbox.ingest(db, [Arrival(message, "not paired yet", held=True)], None, 0)
            pairing.request_pairing(db, Address("telegram", message.bot_id, "9"), "Eve", "AAAA", 0)
            pairing.revoke_pairing(db, "telegram", "9", 1)
        (entry,) = chat_entries.list_chat_entries(db)
        assert (entry.refused, entry.held, entry.text) == (True, False, "")


def test_words_are_found_beyond_the_newest_chats(tmp_path: Path) -> None:
    """In the last message, the name or the agent, whatever their case."""
    with booted(tmp_path) as db:
        receive(db, update(1, "about Trains", "old"), now=1)
        for number in range(2, PAGE + 9):
            receive(db, update(number, "other", f"c{number}"), now=number)
        (entry,) = chat_entries.list_chat_entries(db, words="TRAINS")
        assert entry.key == "telegram/1/old/"
        assert len(chat_entries.list_chat_entries(db, words="ann")) == PAGE
        assert chat_entries.list_chat_entries(db, words="planes") == []
