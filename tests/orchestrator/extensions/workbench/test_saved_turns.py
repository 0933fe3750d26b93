"""Sets of saved turns: what is kept, and what the audit log has of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import job, open_turn, opened

from orchestrator.control.trials import SavedTurn
from orchestrator.errors import UnknownNameError
from orchestrator.extensions.workbench import saved_turns
from orchestrator.extensions.workbench.checks import CheckError
from orchestrator.journal.db.database import Database


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal with the turns `t1` and `t2` of two chats."""
    with opened(tmp_path) as connection:
        open_turn(connection, "t1", "Is the train on time?")
        with job(connection):
            connection.execute("UPDATE turn SET state = 'closed', chat_key = 'other'")
            connection.execute(
                "INSERT INTO turn(id, agent_id, chat_key, session_id, recipe, state, epoch,"
                " deadline, allowed, code_ver, started_at) SELECT 't2', agent_id, chat_key,"
                " session_id, recipe, state, epoch, deadline, allowed, code_ver, 9 FROM turn"
            )
        yield connection


def save(db: Database, turn: str, checks: str = "same calls", name: str = "daily") -> SavedTurn:
    """Save a turn, as a command does."""
    with job(db):
        saved = SavedTurn(set_name=name, turn=turn, checks=checks)
        return saved_turns.add_saved_turn(db, saved, "web:ann", 7)


def test_saved_turn_has_its_question_and_the_checks_of_the_last_save(db: Database) -> None:
    """By the end of its id; a second save only changes the checks."""
    assert save(db, "1").question == "Is the train on time?"
    save(db, "t1", "says: /platform 9/")
    save(db, "t1", name="weekly")
    save(db, "t2")
    found = saved_turns.list_saved_turns(db).turns
    assert [(one.set_name, one.turn, one.checks, one.by, one.at) for one in found] == [
        ("daily", "t1", "says: /platform 9/", "web:ann", 7),
        ("daily", "t2", "same calls", "web:ann", 7),
        ("weekly", "t1", "same calls", "web:ann", 7),
    ]
    assert saved_turns.require_saved_set(db, "daily") == found[:2]


def test_audit_log_names_set_and_turn_but_no_text(db: Database) -> None:
    """Checks may quote what people wrote, so only their digest is there."""
    save(db, "t1", "says: /platform 9/")
    with job(db):
        gone = SavedTurn(set_name="daily", turn="1")
        assert saved_turns.remove_saved_turn(db, gone, "operator", 8).turn == "t1"
    rows = [*db.execute("SELECT actor, act, object FROM audit ORDER BY id")]
    assert [row[:2] for row in rows] == [
        ("web:ann", "saved a turn as a test"),
        ("operator", "removed a test"),
    ]
    assert all("set daily, turn t1" in row[2] for row in rows)
    assert "platform" not in str(rows)
    assert saved_turns.list_saved_turns(db).turns == ()


def test_name_that_fits_no_turn_or_several_is_refused(db: Database) -> None:
    """So is one that is not in the set, and a set that does not exist."""
    with pytest.raises(UnknownNameError, match="no turn's id ends with 'x'"):
        save(db, "x")
    with pytest.raises(UnknownNameError, match="fits several turns"):
        save(db, "t")
    with pytest.raises(CheckError, match="line 1"):
        save(db, "t1", "no check")
    with pytest.raises(UnknownNameError, match="make one with: orchestrator sets add"):
        saved_turns.require_saved_set(db, "daily")
    save(db, "t1")
    with pytest.raises(UnknownNameError, match="there are: daily"):
        saved_turns.require_saved_set(db, "weekly")
    with pytest.raises(UnknownNameError, match="no turn fits 't2'"):
        saved_turns.remove_saved_turn(db, SavedTurn(set_name="daily", turn="t2"), "x", 1)
