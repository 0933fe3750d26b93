"""What a turn reads with its prompt and history, and how it is marked."""

from pathlib import Path

import pytest
from fakes.journal import booted, job, next_turn, planned, receive, update
from fakes.journal import open_turn as opened_turn

from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.prompt_memory import PromptMemory
from orchestrator.journal.turns import steps, taint, turns
from orchestrator.journal.turns.outbox import OutboxPart
from orchestrator.journal.turns.taint import Taint
from orchestrator.journal.turns.turns import StoredTurn
from orchestrator.turns.turn_inputs import (
    find_context_taint,
    mark_other_senders,
    strip_message_origin,
)
from thinker.protocol.messages import Origin, ToolResult, UserMessage
from thinker.protocol.methods import Memory


def context(db: Database, turn_id: str) -> StoredTurn:
    with job(db):
        return turns.load_stored_turn(db, turn_id, frozenset(), 50, 0)


def read(db: Database, turn_id: str, name: str, origin: Origin, *, private: bool) -> None:
    """One call in a turn, with its result."""
    (call,) = planned(db, turn_id, name)
    with job(db):
        steps.mark_intent(db, turn_id, call.seq, 1, 1)
        result = ToolResult(
            call_id=call.call_id, name=name, content="x", origin=origin, private=private
        )
        steps.finish(db, call, result, 1)


def second_turn(db: Database) -> Taint:
    """What the next turn reads, once the first has ended."""
    with job(db):
        turns.end_with_reply(
            db, turns.load_turn(db, "t1"), [OutboxPart("done")], "direct", ("done", None), 2
        )
    receive(db, update(2, "thanks"))
    next_turn(db, "t2")
    return find_context_taint(context(db, "t2"), PromptMemory())


def test_plain_chat_reads_nothing_of_others(tmp_path: Path) -> None:
    """So its prompt and its calls are as ever."""
    with booted(tmp_path) as db:
        opened_turn(db)
        assert not find_context_taint(context(db, "t1"), PromptMemory())


@pytest.mark.parametrize(("origin", "foreign"), [("user", {}), ("web", {"facts": "web"})])
def test_facts_are_private_and_foreign_as_they_came(
    tmp_path: Path, origin: Origin, foreign: dict[str, Origin]
) -> None:
    """The worst of them counts."""
    with booted(tmp_path) as db:
        opened_turn(db)
        fact = Memory(fact="Likes tea.", category="preference", origin=origin)
        found = find_context_taint(context(db, "t1"), PromptMemory(memories=(fact,)))
        assert found.private == {"facts": True}
        assert found.untrusted == foreign


def test_later_turn_knows_what_it_can_still_see(tmp_path: Path) -> None:
    """Text of an earlier turn counts together with what this turn reads."""
    with booted(tmp_path) as db:
        opened_turn(db)
        read(db, "t1", "page", "web", private=False)
        found = second_turn(db)
        assert found.untrusted == {taint.CONVERSATION: "web"}
        assert not found.has_read_both
        with job(db):
            taint.add_taint(db, "t2", found)
        read(db, "t2", "notes", "operator", private=True)
        assert taint.load_taint(db, "t2").has_read_both


def test_turn_after_one_that_read_both_is_held_as_well(tmp_path: Path) -> None:
    """A page may wait for a later message."""
    with booted(tmp_path) as db:
        opened_turn(db)
        read(db, "t1", "page", "web", private=False)
        read(db, "t1", "notes", "operator", private=True)
        assert second_turn(db).has_read_both


def test_turn_after_one_that_used_one_server_is_not(tmp_path: Path) -> None:
    """What a tool read is its own text: the next turn may use the tool again."""
    with booted(tmp_path) as db:
        opened_turn(db)
        read(db, "t1", "notes", "tool", private=True)
        assert not second_turn(db).has_read_both


def test_words_of_others_in_a_group_are_theirs(tmp_path: Path) -> None:
    """In another person's turn they are data; in their own turn they are the user's."""
    with booted(tmp_path) as db:
        opened_turn(db)
        found = context(db, "t1")
        ann = UserMessage(content="one", sender="1")
        bob = UserMessage(content="two", sender="2")
        (row,) = found.messages
        group = type(row)(**{**vars(row), "private": False, "sender_id": "1"})
        shown = mark_other_senders(
            StoredTurn(**{**vars(found), "messages": (group,), "history": (ann, bob)})
        ).history
        assert shown[0] == ann
        assert isinstance(shown[1], UserMessage)
        assert shown[1].text.startswith("<untrusted-")
        assert shown[1].text.splitlines()[1] == "two"


def test_agent_that_does_not_tell_reads_everything_plain() -> None:
    """``provenance`` off."""
    result = ToolResult(call_id="1", name="page", content="x", origin="web", fence="m")
    assert strip_message_origin(result).text == "x"
