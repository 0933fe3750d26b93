"""The search right after an upgrade, while messages are indexed anew."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from zoneinfo import ZoneInfo

import apsw
import pytest
from fakes.golden import restore
from fakes.journal import job, opened, sqlite
from fakes.memory import WORK, own_of
from fakes.message_search import search_messages
from fakes.page import read_from
from fakes.postgresql import POSTGRESQL, connect_to, database_of, sqlite_only

from orchestrator.extensions.memory import message_index, search_trial
from orchestrator.extensions.memory.probes import Probe
from orchestrator.extensions.page.reads import lookup
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.dialect import EARLIER, get_dialect, has_earlier_index
from orchestrator.journal.turns import sessions
from thinker.protocol.messages import AssistantMessage, UserMessage

ANN = own_of("telegram:1")
TEXTS = ("The zeppelins leave Zürich", "我喜欢喝绿茶", "at noon", "zeppelin number four")
FILLING = """INSERT INTO meta SELECT 'search_filling', (SELECT max(id) FROM message) || ' ' ||
  (SELECT max(id) FROM session) || ' 0'"""
# What an earlier version has made.
OLD = {
    False: (
        """CREATE VIRTUAL TABLE message_words USING fts5(text, content='', contentless_delete=1,
          tokenize='porter unicode61 remove_diacritics 2')""",
        """CREATE VIRTUAL TABLE message_grams USING fts5(text, content='', contentless_delete=1,
          tokenize='trigram')""",
        """CREATE TRIGGER message_gone AFTER DELETE ON message BEGIN
          DELETE FROM message_words WHERE rowid = old.id;
          DELETE FROM message_grams WHERE rowid = old.id; END""",
        """INSERT INTO message_grams(rowid, text) SELECT id, text FROM said
          WHERE octet_length(text) <> length(text)""",
        "INSERT INTO message_words(rowid, text) SELECT id, text FROM said",
    ),
    True: (
        "CREATE INDEX message_words ON message USING gin(words_in(said_in(body)))",
        """CREATE INDEX message_grams ON message USING gin(letters_in(said_in(body)) gin_trgm_ops)
          WHERE octet_length(letters_in(said_in(body))) <> length(letters_in(said_in(body)))""",
    ),
}


def say(db: Database, chat: str, *texts: str) -> None:
    """A session of the agent ``work`` in which a person and the agent speak by turns."""
    with job(db):
        session = sessions.open_session(db, "work", chat, 1, f"telegram:{chat}")
        for number, text in enumerate(texts):
            kind = AssistantMessage if number % 2 else UserMessage
            sessions.append_messages(db, session, "t1", [kind(content=text)], 1)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal in which no message has a place, with the index of an earlier version."""
    with opened(tmp_path) as connection:
        say(connection, "1", *TEXTS)
        say(connection, "2", "zeppelin of another chat")
        with job(connection):
            for statement in OLD[POSTGRESQL]:
                connection.execute(statement)
            connection.execute(FILLING)
            connection.execute("INSERT INTO meta VALUES(?, 'message_words')", (EARLIER,))
        yield connection


def find(db: Database, query: str) -> list[str]:
    """What a chat finds."""
    return [one.text for one in search_messages(db, ANN, query, 9)]


def fill(db: Database) -> bool:
    """Index one slice."""
    with job(db):
        return message_index.fill_index(db)


@pytest.mark.parametrize(
    ("query", "text"),
    [("zurich", 0), ("leaving", 0), ("喜欢喝", 1), ("绿茶", 1), ("When is it noon?", 2)],
)
def test_message_is_found_before_it_is_indexed_anew(db: Database, query: str, text: int) -> None:
    """Forms and accents of words, and parts of words in scripts without spaces."""
    assert find(db, query) == [TEXTS[text]]


def test_each_message_is_found_once_at_every_step(db: Database) -> None:
    """Never those of other chats; at the end the earlier index is gone."""
    steps = 0
    while True:
        assert sorted(find(db, "zeppelin")) == sorted((TEXTS[0], TEXTS[3]))
        assert len(search_messages(db, WORK, "zeppelin", 9)) == 3
        if not has_earlier_index(db):
            break
        fill(db)
        steps += 1
    assert steps == 2
    assert not message_index.is_filling(db)
    assert not fill(db)


def test_new_messages_are_found_beside_earlier_ones(db: Database) -> None:
    """By turns, as their scores cannot be compared."""
    say(db, "1", "zeppelin five", "zeppelin six")
    with job(db):
        message_index.index_new_messages(db)
    found = find(db, "zeppelin")
    assert {text in TEXTS for text in found[:2]} == {True, False}
    assert len(found) == 4


async def test_page_finds_words_before_they_are_indexed_anew(db: Database) -> None:
    """And once they are."""
    read = read_from(db)
    assert len((await lookup.search_journal(read, "zeppelins zurich", texts=True)).texts) == 1
    while fill(db):
        pass
    assert len((await lookup.search_journal(read, "zeppelins zurich", texts=True)).texts) == 1


def test_trial_explains_a_message_of_the_earlier_index(db: Database) -> None:
    """It has no scores."""
    result = search_trial.run_probe(db, ANN, Probe("noon"), ZoneInfo("UTC"))
    assert [one.score for one in result.found] == [0]
    assert any("at noon" in line for line in result.found[0].lines)


def test_deleted_message_leaves_the_earlier_index(db: Database) -> None:
    """An erasure leaves no word of it in the file."""
    with job(db), get_dialect(db).wipe_deleted_rows(db):
        db.execute("DELETE FROM message WHERE instr(body, 'noon') > 0")
    assert find(db, "noon") == []
    if not POSTGRESQL:
        sql = "SELECT 1 FROM message_words_data WHERE instr(block, CAST('noon' AS BLOB)) > 0"
        assert db.execute(sql).get is None
        assert db.execute(sql.replace("noon", "zeppelin")).get


@pytest.mark.skipif(not POSTGRESQL, reason="about the locks of a server")
def test_earlier_index_stays_while_another_session_reads(tmp_path: Path, db: Database) -> None:
    """Such as a backup of hours, which the daemon does not wait for."""
    with closing(connect_to(database_of(tmp_path))) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM message")
        while fill(db):
            pass
        assert has_earlier_index(db)
        other.execute("COMMIT")
    assert not fill(db)
    assert not has_earlier_index(db)
    assert sorted(find(db, "zeppelin")) == sorted((TEXTS[0], TEXTS[3]))


@sqlite_only
def test_migration_keeps_the_index_of_a_released_version(tmp_path: Path) -> None:
    """With the messages that were not indexed yet; later ones are in the new index alone."""
    path = tmp_path / "journal.db"
    restore(path)
    with closing(apsw.Connection(str(path))) as before:
        for number in range(70):
            body = UserMessage(content=f"biscuit {number}").model_dump_json()
            before.execute("INSERT INTO message(session_id, body, at) VALUES(1, ?, 1)", (body,))
    with sqlite(tmp_path) as db:
        assert db.execute("SELECT count(*) FROM message_place").get == 0
        agent = str(db.execute("SELECT agent_id FROM session WHERE id = 1").get)
        whole = WORK._replace(agent_id=agent)
        assert len(search_messages(db, whole, "biscuit", 99)) == 70
        while fill(db):
            pass
        assert len(search_messages(db, whole, "biscuit", 99)) == 70
        left = "SELECT count(*) FROM sqlite_schema WHERE name IN('message_words','message_gone')"
        assert db.execute(left).get == 0
