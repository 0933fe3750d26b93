"""Looking for what was said: any text, any script, only the agent's own sessions."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from fakes.golden import restore
from fakes.journal import job, opened
from fakes.memory import WORK, own_of
from fakes.message_search import search_messages
from fakes.postgresql import POSTGRESQL
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.extensions.memory import message_index, message_search
from orchestrator.extensions.memory.query_terms import read_question
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.sqlite_storage import open_database
from orchestrator.journal.turns import sessions
from thinker.protocol.messages import AssistantMessage, Message, ToolCall, ToolResult, UserMessage

ANN, BEN = own_of("telegram:1"), own_of("telegram:2")
DAY = 86_400_000  # milliseconds
OPERATOR = own_of("telegram:3", shared=True)


def say(db: Database, agent_id: str, *messages: Message, now: int = 1) -> None:
    """A turn's messages in the agent's session of chat ``c``."""
    with job(db):
        session = sessions.open_session(db, agent_id, "c", now)
        sessions.append_messages(db, session, "t1", list(messages), now)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal with a conversation of ``work`` and one of ``home``."""
    call = ToolCall(id="1", name="look", arguments={"where": "cupboard"})
    with opened(tmp_path) as connection:
        say(
            connection,
            "work",
            UserMessage(content="Which teas do we have at Müller's?"),
            AssistantMessage(tool_calls=(call,)),
            ToolResult(call_id="1", name="look", content="oolong sencha"),
            AssistantMessage(content="Green and black tea.", tool_calls=()),
            UserMessage(content="我喜欢喝绿茶"),
            UserMessage(content="コーヒーも好きです"),
        )
        say(connection, "home", UserMessage(content="Tea at home, please"))
        yield connection


def index_all(db: Database) -> None:
    """Index what was said, as the daemon does."""
    with job(db):
        while message_index.fill_index(db) or message_index.index_new_messages(db):
            pass


def found(db: Database, query: str, limit: int = 5) -> list[str]:
    """What fits a query."""
    index_all(db)
    return [said.text for said in search_messages(db, WORK, query, limit)]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("muller", "Which teas do we have at Müller's?"),
        ('"black" NEAR(', "Green and black tea."),
        ("绿茶", "我喜欢喝绿茶"),
        ("茶", "我喜欢喝绿茶"),
        ("喜欢喝绿", "我喜欢喝绿茶"),
        ("コーヒー", "コーヒーも好きです"),
    ],
)
def test_words_of_every_script_are_found(db: Database, query: str, text: str) -> None:
    """Forms and accents of words; one and two characters where there are no spaces."""
    assert found(db, query) == [text]


def test_best_comes_first_and_the_number_is_bounded(db: Database) -> None:
    """And the other agent's conversation stays its own."""
    assert found(db, "green tea") == ["Green and black tea.", "Which teas do we have at Müller's?"]
    assert found(db, "green tea", limit=1) == ["Green and black tea."]


def test_what_tools_were_asked_and_answered_is_not_what_was_said(db: Database) -> None:
    """Web pages and files would bury the conversation."""
    assert found(db, "oolong cupboard") == []


def test_hit_says_who_said_it_when_and_where(db: Database) -> None:
    """Everything that a tool shows."""
    index_all(db)
    (said,) = search_messages(db, WORK, "black", 5)
    assert (said.role, said.at, said.chat_key) == ("assistant", 1, "c")


@given(st.text(max_size=200).filter(lambda text: text.isprintable()))
def test_no_query_breaks_the_search(db: Database, query: str) -> None:
    """A model's query goes in as it is."""
    index_all(db)
    search_messages(db, WORK, query, 5)


def test_deleted_message_is_not_found(db: Database) -> None:
    """The index follows."""
    db.execute("DELETE FROM message WHERE body LIKE '%绿茶%' OR body LIKE '%black%'")
    assert found(db, "绿茶") == []
    assert found(db, "black") == []


def test_message_that_cannot_be_read_is_stored_all_the_same(db: Database) -> None:
    """Its JSON is nested deeper than a limit, or no text; the turn has to end nevertheless."""
    for body in ("[" * 2000, "[" * 100_000, '{"role":"user","content":"\\ud800"}'):
        db.execute("INSERT INTO message(session_id, body, at) VALUES(1, ?, 1)", (body,))
    say(db, "work", UserMessage(content="and on it goes"))
    assert found(db, "goes") == ["and on it goes"]


def test_very_long_message_is_stored_and_found_by_its_beginning(db: Database) -> None:
    """It has more different words than an index of PostgreSQL takes."""
    text = "preface " + " ".join(map(str, range(10**6, 10**6 + 300_000)))
    say(db, "work", UserMessage(content=text))
    assert found(db, "preface") == [text]


def test_message_of_an_earlier_release_is_found(tmp_path: Path) -> None:
    """Its messages are indexed anew, once."""
    path = tmp_path / "journal.db"
    restore(path)
    before = apsw.Connection(str(path))
    (body,) = before.execute(
        "SELECT body ->> 'content' FROM message WHERE body ->> 'role' = 'user'"
    ).fetchone() or ("",)
    before.close()
    db = open_database(path)
    assert body in found(db, str(body), 50)
    assert not message_index.is_filling(db)
    db.close()


def test_every_message_is_found_once_however_it_was_indexed(db: Database) -> None:
    """Part by part, in the order in which it came; one may go before it is indexed."""
    first = int(db.execute("SELECT max(id) FROM message").get)
    for number in range(first + 1, 140):
        say(db, "work", UserMessage(content=f"biscuit {number}"))
        if number in (70, 100):
            assert len(found(db, "biscuit", 200)) == number - first
    with job(db):
        db.execute("DELETE FROM message WHERE id IN(65, 139)")
    left = {number for number in range(first + 1, 139) if number != 65}
    assert sorted(found(db, "biscuit", 200)) == sorted(f"biscuit {number}" for number in left)
    if not POSTGRESQL:
        assert db.execute("SELECT count(*) FROM said_words_docsize").get == 5 + len(left)
        db.execute("INSERT INTO said_words(said_words) VALUES('integrity-check')")


def test_search_finds_what_was_said_in_the_chat(db: Database) -> None:
    """A conversation of unknown origin is for operators."""
    for number, memory in enumerate((WORK, ANN, BEN)):
        session = sessions.open_session(db, "work", f"k{number}", 1, memory.chat)
        said = UserMessage(content=f"zebra of {memory.chat} 斑马")
        sessions.append_messages(db, session, f"t{number}", [said], 1)
    index_all(db)
    for query in ("zebra", "斑马"):
        found = {
            memory: {hit.chat_key for hit in search_messages(db, memory, query, 9)}
            for memory in (WORK, ANN, BEN, OPERATOR)
        }
        assert found == {WORK: {"k0", "k1", "k2"}, ANN: {"k1"}, BEN: {"k2"}, OPERATOR: {"k0"}}


def test_common_words_are_counted_in_the_latest_messages(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many an agent has, a search takes as long; the rare word still counts more."""
    for number in range(40):
        say(db, "work", UserMessage(content=f"soup for lunch {number}"), now=number * DAY)
    say(db, "work", UserMessage(content="soup with dumplings"), now=40 * DAY)
    index_all(db)
    monkeypatch.setattr(message_search, "MAX_PLACES", 10)
    monkeypatch.setattr(message_search, "MAX_COUNTED", 20)
    places = message_search.look_up(db, WORK, read_question("soup dumplings"))
    assert 30 <= places.total <= 60
    assert [30 <= term.rows <= 60 for term in places.postings] == [False, True]
    assert found(db, "soup dumplings")[0] == "soup with dumplings"
