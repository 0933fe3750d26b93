"""Sessions: the conversation, the tools used lately, and the chats an agent knows."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.journal import open_turn, opened, planned, receive, update

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import cancellations, sessions, turns
from orchestrator.journal.turns.outbox import Address, OutboxPart
from orchestrator.journal.turns.turns import Turn
from thinker.protocol.messages import Message, UserMessage


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """An empty journal."""
    with opened(tmp_path) as connection:
        yield connection


def said(*texts: str) -> list[Message]:
    """User messages."""
    return [UserMessage(content=text) for text in texts]


def test_agent_and_chat_have_one_open_session(db: Database) -> None:
    """One that has ended is followed by a new one."""
    first = sessions.open_session(db, "work", "c", 1)
    assert sessions.open_session(db, "work", "c", 2) == first
    others = {sessions.open_session(db, "home", "c", 2), sessions.open_session(db, "work", "d", 2)}
    db.execute("UPDATE session SET ended_at = 3 WHERE id = ?", (first,))
    assert len({first, *others, sessions.open_session(db, "work", "c", 4)}) == 4


def test_window_is_the_newest_messages_that_no_summary_covers(db: Database) -> None:
    """Oldest first; other sessions do not show through."""
    session, other = (sessions.open_session(db, agent, "c", 1) for agent in ("work", "home"))
    sessions.append_messages(db, session, "t1", said("a", "b"), 1)
    sessions.append_messages(db, other, "t2", said("x"), 1)
    sessions.append_messages(db, session, "t3", said("c"), 2)
    assert sessions.list_history(db, session, 50) == tuple(said("a", "b", "c"))
    assert sessions.list_history(db, session, 2) == tuple(said("b", "c"))
    assert sessions.load_summary(db, session)[0] is None
    db.execute("UPDATE session SET summary = 'so far', summary_upto = 2 WHERE id = ?", (session,))
    assert sessions.list_history(db, session, 50) == tuple(said("c"))
    assert sessions.load_summary(db, session)[0] == "so far"


def test_window_is_read_with_its_place_in_the_journal(db: Database) -> None:
    """The ids of its first and its last message; an empty one has none."""
    session, other = (sessions.open_session(db, agent, "c", 1) for agent in ("work", "home"))
    sessions.append_messages(db, session, "t1", said("a", "b"), 1)
    sessions.append_messages(db, other, "t2", said("x"), 1)
    sessions.append_messages(db, session, "t3", said("c"), 2)
    assert sessions.load_history_window(db, session, 2) == (tuple(said("b", "c")), (2, 4), 0)
    assert sessions.load_history_window(db, session, 0) == ((), None, 0)


def test_window_that_jumps_begins_with_the_same_message_in_between(db: Database) -> None:
    """It is never smaller than asked for, so that nothing is forgotten early."""
    session = sessions.open_session(db, "work", "c", 1)
    found = []
    for number in range(8):
        sessions.append_messages(db, session, "t1", said(str(number)), 1)
        window = sessions.list_history(db, session, 2, jump=3)
        found.append((window[0].content, len(window)))
    sizes = [("0", 1), ("0", 2), ("0", 3), ("0", 4), ("3", 2), ("3", 3), ("3", 4), ("6", 2)]
    assert found == sizes


def test_recent_tools_are_those_of_the_last_turns_newest_first(db: Database) -> None:
    """Each once; the turn in hand does not count."""
    for number, tools in enumerate((["old"], ["read", "note"], [], ["mail", "read"]), 1):
        turn = open_turn(db, f"t{number}")
        planned(db, turn.id, *tools)
        turns.end_with_reply(db, turn, [OutboxPart("ok")], "direct", ("done", None), number)
    open_turn(db, "t5")
    planned(db, "t5", "now")
    assert sessions.list_recent_tools(db, turn.session_id, 3) == ("mail", "read", "note")


def list_session(db: Database, turn: Turn) -> list[tuple[str, str]]:
    """The roles and texts that the next turn reads."""
    history = sessions.list_history(db, turn.session_id, 50)
    return [(message.role, message.content) for message in history]


def test_notice_is_not_among_the_words_of_the_agent(db: Database) -> None:
    """A model would repeat it; the message stays, without an answer."""
    turn = open_turn(db, "t1", "Capital of France?")
    notice = OutboxPart("I couldn't get an answer.", notice=True)
    turns.end_with_reply(db, turn, [notice], "direct", ("model_error", "500"), 1)
    assert list_session(db, turn) == [("user", "Capital of France?")]
    assert db.execute("SELECT body FROM outbox WHERE notice = 1").get == notice.text


def test_stopped_turn_leaves_no_words_that_its_model_did_not_say(db: Database) -> None:
    """What it said before stays, and "(stopped)" is for the chat."""
    turn = open_turn(db, "t1", "Tell me")
    planned(db, turn.id, "note")
    cancellations.cancel_turn(db, turn.chat_key, "stopped", 1)
    assert [role for role, _ in list_session(db, turn)] == ["user", "assistant", "tool"]


def test_message_that_was_too_long_does_not_stay_in_the_way(db: Database) -> None:
    """Its beginning is kept, so that the person can speak of it."""
    turn = open_turn(db, "t1", "README " * 10_000)
    long = OutboxPart("This is too long.", notice=True)
    turns.end_with_reply(db, turn, [long], "direct", ("overflow", "413"), 1)
    ((role, text),) = list_session(db, turn)
    assert (role, text[:7]) == ("user", "README ")
    assert text.endswith("[… 69500 more characters were too long for you to read]")


def test_agent_knows_only_chats_that_it_has_answered(db: Database) -> None:
    """A stranger's message, which no agent took, opens no way to them."""
    open_turn(db, "t1")
    receive(db, update(2, chat_id="8"))
    receive(db, replace(update(3), thread_id="5"))
    assert sessions.find_known_address(db, "work", "telegram", "7") == Address("telegram", "1", "7")
    for agent, channel, chat in (
        ("work", "telegram", "8"),
        ("work", "console", "7"),
        ("home", "telegram", "7"),
    ):
        assert sessions.find_known_address(db, agent, channel, chat) is None
