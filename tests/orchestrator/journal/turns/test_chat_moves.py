"""A chat with a new id stays the same chat, whenever its move becomes known."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.journal import booted, job, next_turn, receive, update
from fakes.memory import insert_fact, insert_profile, own_of

from orchestrator.channel_api import InboundMessage
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import fact_cards, profile
from orchestrator.journal.schedule import tasks
from orchestrator.journal.turns import chat_moves, handoffs, inbox, outbox, sessions, turns
from orchestrator.journal.turns.outbox import OutboxPart
from orchestrator.schedules.specs import TaskSpec
from thinker.protocol.messages import UserMessage

OLD, NEW = "-9", "-1009"
KEY, NEW_KEY = "telegram/1/-9/", "telegram/1/-1009/"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal under its first epoch, whose invariants hold at the end."""
    with booted(tmp_path) as connection:
        yield connection


def move(db: Database, old: str = OLD, new: str = NEW) -> bool:
    """Store a move."""
    with job(db):
        return chat_moves.move_chat(db, "telegram", "1", old, new, 5)


def converse(db: Database, number: int, text: str, chat_id: str) -> None:
    """A message and its answer."""
    receive(db, update(number, text, chat_id))
    turn = next_turn(db, f"t{number}", chat_id)
    assert turn is not None
    with job(db):
        turns.end_with_reply(db, turn, [OutboxPart(f"re: {text}")], "direct", ("done", None), 2)


def said(db: Database, key: str) -> list[str]:
    """What people said in the open conversation of a chat."""
    session = sessions.open_session(db, "work", key, 0)
    window = sessions.list_history(db, session, 50)
    return [message.text for message in window if isinstance(message, UserMessage)]


def named(db: Database, message: InboundMessage) -> InboundMessage:
    """An update as it is stored."""
    return chat_moves.rename_moved_chat(message, chat_moves.load_chat_moves(db, "telegram"))


def test_update_of_the_new_chat_joins_the_queue_and_the_conversation(db: Database) -> None:
    """Its message may have the number of one in the old chat, and is another one."""
    converse(db, 1, "before", OLD)
    assert move(db)
    again = replace(update(2, "after", NEW), message_id=update(1).message_id, sender_id=NEW)
    message = named(db, again)
    assert message.sender_id == OLD
    receive(db, message)
    turn = next_turn(db, "t2", OLD)
    assert turn is not None
    assert said(db, KEY) == ["before"]
    assert [row.message_id for row in inbox.list_opening_messages(db, "t2")] == [
        f"{NEW}:{again.message_id}"
    ]


def test_other_chats_keep_their_names(db: Database) -> None:
    """A move changes one chat."""
    assert move(db)
    assert named(db, update(1, chat_id="7")) == update(1, chat_id="7")


def test_move_is_stored_once(db: Database) -> None:
    """Each of the service messages and of the refused calls tells it, in any order."""
    assert [move(db), move(db), move(db, NEW, OLD), move(db, OLD, OLD)] == [True] + [False] * 3
    assert chat_moves.load_chat_moves(db, "telegram") == {NEW: OLD}


def test_chat_that_moves_again_keeps_its_first_name(db: Database) -> None:
    """There are no chains to follow."""
    assert move(db)
    assert move(db, NEW, "-2009")
    assert chat_moves.load_chat_moves(db, "telegram") == {NEW: OLD, "-2009": OLD}


def test_what_came_before_the_move_was_known_is_brought_along(db: Database) -> None:
    """A message that waits changes its queue; what was said is part of the conversation."""
    converse(db, 1, "before", OLD)
    converse(db, 2, "between", NEW)
    receive(db, update(3, "waiting", NEW))
    assert move(db)
    assert said(db, KEY) == ["before", "between"]
    row = inbox.find_oldest_new(db, KEY)
    assert row is not None
    assert (row.chat_id, row.message_id) == (OLD, f"{NEW}:{update(3).message_id}")
    assert inbox.find_oldest_new(db, NEW_KEY) is None


def test_conversation_of_the_new_id_alone_becomes_the_chats(db: Database) -> None:
    """With its summary, since it stays the same session."""
    converse(db, 1, "between", NEW)
    session = sessions.open_session(db, "work", NEW_KEY, 0)
    assert move(db)
    assert sessions.open_session(db, "work", KEY, 0) == session


def test_open_turn_of_the_old_chat_goes_on(db: Database) -> None:
    """Nothing of it changes: its reply is for the first id, which the adapter translates."""
    receive(db, update(1, "before", OLD))
    turn = next_turn(db, "t1", OLD)
    assert turn is not None
    assert move(db)
    with job(db):
        turns.end_with_reply(db, turn, [OutboxPart("done")], "direct", ("done", None), 6)
    assert [row.chat_id for row in outbox.list_due_rows(db, "telegram")] == [OLD]


def test_chat_is_found_by_either_id(db: Database) -> None:
    """Tasks and tools may name the new one."""
    converse(db, 1, "before", OLD)
    assert sessions.find_known_address(db, "work", "telegram", NEW) is None
    assert move(db)
    for chat_id in (OLD, NEW):
        found = sessions.find_known_address(db, "work", "telegram", chat_id)
        assert found is not None
        assert found.chat_id == OLD


def test_what_both_ids_have_stays_as_the_first_one_has_it(db: Database) -> None:
    """Of tasks that is so while they are planned; the rest of the new id moves."""
    first, later = own_of(f"telegram:{OLD}"), own_of(f"telegram:{NEW}")
    daily = TaskSpec(name="a", instructions="x", trigger={"schedule": "0 9 * * *"}, timezone="UTC")
    made = [
        tasks.add_task(db, memory, daily.model_copy(update={"name": name}), 1)
        for memory, name in ((first, "a"), (later, "a"), (later, "b"), (later, "c"))
    ]
    tasks.end_task(db, made[0].id, "cancelled", "")
    tasks.add_task(db, first, daily.model_copy(update={"name": "b"}), 1)
    for key, routed, agent in ((KEY, "x", "1"), (NEW_KEY, "x", "2"), (NEW_KEY, "y", "3")):
        db.execute("INSERT INTO handoff VALUES(?,?,?,'t',1,1)", (key, routed, agent))
    assert move(db)
    moved = "SELECT id FROM task WHERE scope = ? ORDER BY id"
    assert db.execute(moved, (first.chat,)).get == [1, 2, 4, 5]
    found = {(item.routed_id, item.agent_id) for item in handoffs.list_handoffs_in_chat(db, KEY)}
    assert found == {("x", "1"), ("y", "3")}
    assert [item.agent_id for item in handoffs.list_handoffs_in_chat(db, NEW_KEY)] == ["2"]


def test_memory_of_the_new_id_becomes_that_of_the_first(db: Database) -> None:
    """What a chat has under both ids stays as it was under the first one."""
    first, later = own_of(f"telegram:{OLD}"), own_of(f"telegram:{NEW}")
    with job(db):
        for memory in (first, later):
            insert_profile(db, memory, {"name": memory.chat})
            insert_fact(db, memory, "We play chess")
            fact_cards.load_card(db, memory, 1, 3, 600)
        insert_fact(db, later, "We are two")
    assert move(db)
    rows = db.execute("SELECT fact FROM fact WHERE scope = ? ORDER BY id", (first.chat,)).fetchall()
    assert rows == [("We play chess",), ("We are two",)]
    rows = db.execute("SELECT scope FROM memory_card WHERE scope = ?", (first.chat,)).fetchall()
    assert len(rows) == 1
    assert profile.load_profile(db, first) == {"name": first.chat}
