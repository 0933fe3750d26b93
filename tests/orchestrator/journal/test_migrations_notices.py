"""Journals of the first release, in which notices are stored as words of the agents."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from fakes.golden import FILES, restore
from fakes.journal import sqlite

from orchestrator.journal.inspect import invariants
from orchestrator.journal.turns import sessions
from thinker.protocol.messages import MESSAGE, AssistantMessage, Message, ToolCall, UserMessage

FAILED = "I couldn't get an answer from the model just now. Please try again in a moment."
CALLING = AssistantMessage(tool_calls=(ToolCall(id="c", name="look", arguments={}),))


def add_turn(db: apsw.Connection, name: str, end: str, said: str, *messages: Message) -> None:
    """A turn as the first release stored it: its session, its model's text and its reply."""
    db.execute(
        "INSERT INTO turn(id, agent_id, chat_key, session_id, recipe, state, epoch, deadline,"
        " allowed, code_ver, started_at, ended_at, stop_reason)"
        " VALUES(?,'work','telegram/1/7/',900,'interactive','closed',1,0,0,'1',1,2,?)",
        (name, end),
    )
    if said:
        db.execute(
            "INSERT INTO step(turn_id, seq, kind, name, class, state, result, finish, usage,"
            " epoch, t_plan) VALUES(?,1,'model','demo','pure','done',?,'done','{}',1,1)",
            (name, AssistantMessage(content=said).model_dump_json()),
        )
    add_messages(db, name, messages)
    db.execute(
        "INSERT INTO outbox(turn_id, part, channel, bot_id, chat_id, chat_key, mode, body,"
        " markdown, state, created_at) VALUES(?,0,'telegram','1','7','telegram/1/7/','direct',"
        " 'x',1,'delivered',2)",
        (name,),
    )


def add_messages(db: apsw.Connection, turn: str, messages: Sequence[Message]) -> None:
    """Messages of the session."""
    for message in messages:
        db.execute(
            "INSERT INTO message(session_id, turn_id, at, body) VALUES(900,?,1,?)",
            (turn, MESSAGE.dump_json(message).decode()),
        )


@pytest.fixture
def db(tmp_path: Path) -> Iterator[apsw.Connection]:
    """A journal of the first release after its upgrade."""
    path = tmp_path / "journal.db"
    restore(path, FILES[0])
    with closing(apsw.Connection(str(path))) as old:
        old.execute("INSERT INTO session(id, agent_id, chat_key, started_at) VALUES(900,'x','y',1)")
        asked, answered = UserMessage(content="?"), AssistantMessage(content="Paris.")
        add_turn(old, "f1", "model_error", "", asked, AssistantMessage(content=FAILED))
        add_turn(old, "f2", "done", "Paris.", asked, answered)
        add_turn(old, "f3", "length", "Paris.", asked, answered)
        late = AssistantMessage(content=f"I couldn't confirm this: x\n\n{FAILED}")
        add_turn(old, "f4", "deadline", "", asked, CALLING, late)
        stopped = AssistantMessage(content="(stopped)")
        add_turn(old, "f5", "cancelled", "", asked, stopped)
        add_messages(old, "removed by retention", (asked, stopped, answered))
    with sqlite(tmp_path) as upgraded:
        yield upgraded


def test_notices_of_older_journals_leave_the_history(db: apsw.Connection) -> None:
    """What models said stays, also in turns that did not end well."""
    said = [(m.role, m.content) for m in sessions.list_history(db, 900, 50)]
    asked, answered = ("user", "?"), ("assistant", "Paris.")
    whole = [asked, asked, answered, asked, answered, asked, ("assistant", ""), asked]
    assert said == [*whole, asked, answered]
    assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    assert [fault for fault in invariants.check_invariants(db) if "search" in fault] == []


def test_notices_of_older_journals_are_marked(db: apsw.Connection) -> None:
    """The page shows them as such."""
    found = db.execute("SELECT turn_id FROM outbox WHERE turn_id LIKE 'f_' AND notice = 1")
    assert sorted(str(turn) for (turn,) in found) == ["f1", "f4", "f5"]
