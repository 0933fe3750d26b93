"""Requests of programs in the journal: their keys, their lines, what came before, their end."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.journal import CLASSES, job, opened, step

from orchestrator.extensions.http_api import new_requests, request_history, stored_requests
from orchestrator.extensions.http_api.new_requests import (
    KeyReusedError,
    NewRequest,
    UnknownPreviousError,
)
from orchestrator.extensions.http_api.stored_requests import Body, Outcome, Request
from orchestrator.extensions.upkeep import retention
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import invariants, recent_turns
from orchestrator.journal.turns import inbox, outbox, turns
from orchestrator.journal.turns import steps as steps_
from orchestrator.journal.turns.outbox import OutboxPart
from orchestrator.journal.turns.turns import Turn, TurnAdmission
from thinker.protocol.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from thinker.protocol.methods import StopReason, TurnResult
from thinker.protocol.notices import STOP_TEXTS

TOOL = ToolSpec(name="theirs", description="", parameters={}, handed_back=True)
DAY = 86_400_000


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """An empty journal."""
    with opened(tmp_path) as connection:
        yield connection


def new(request_id: str, *messages: Message, **fields: Any) -> NewRequest:
    """A request of the agent ``work``."""
    said = messages or (UserMessage(content=request_id),)
    body = Body(messages=said, tools=(TOOL,), store=True)
    return NewRequest(id=request_id, agent_id="work", body=body, digest="d", **fields)


def receive(db: Database, request: NewRequest, now: int = 1) -> str:
    """T1."""
    with job(db):
        return new_requests.store_request(db, request, now)[0]


def begun(db: Database, request_id: str) -> Turn:
    """T2 of a request."""
    found = stored_requests.find_request(db, request_id)
    assert found is not None
    key = db.execute("SELECT chat_key FROM inbox WHERE message_id = ?", (request_id,)).get
    row = inbox.find_oldest_new(db, str(key))
    assert row is not None
    with job(db):
        turn = turns.admit_message(
            db, row, TurnAdmission(f"t{request_id}", "work", 1, 15, "1", "request"), 1
        )
    assert turn is not None
    return turn


def answered(db: Database, turn: Turn, *tools: str, now: int = 1) -> None:
    """T3 to T6: our tool ``read`` is rejected, theirs is handed back, else there is a text."""
    with job(db):
        steps_.plan(db, step(turn.id, *tools, content="done"), CLASSES, 1, now)
        calls = stored_requests.hand_back_calls(db, turn, (TOOL,), now)
        reason = StopReason.HANDED_BACK if calls else StopReason.DONE
        turns.end_with_reply(db, turn, [OutboxPart("done")], "direct", (reason, None), now)
        result = TurnResult(text="done", stop_reason=reason)
        stored_requests.store_outcome(
            db, turn, stored_requests.build_outcome(result, "done", calls), now
        )
    for row in outbox.list_due_rows(db, "api"):
        with job(db):
            outbox.mark_delivered(db, row, "journal", now)


def stored(db: Database, request_id: str) -> Request:
    """A request that exists."""
    found = stored_requests.find_request(db, request_id)
    assert found is not None
    return found


def test_key_stands_for_one_request(db: Database) -> None:
    """Asked again it is the first one; something else with its key is refused."""
    assert receive(db, new("1", idem_key="k")) == "1"
    assert receive(db, new("2", idem_key="k"), now=9) == "1"
    other = NewRequest("3", "work", Body(messages=()), "other", idem_key="k")
    with pytest.raises(KeyReusedError):
        receive(db, other)
    assert recent_turns.count_messages_by_state(db)["new"] == 1


def test_request_stands_in_the_line_of_what_it_goes_on_from(db: Database) -> None:
    """Others have a line each; those of a conversation share one."""
    for request in (
        new("1"),
        new("2"),
        new("3", previous_id="1"),
        new("4", conversation="trip"),
        new("5", conversation="trip"),
    ):
        receive(db, request)
    rows = db.execute("SELECT message_id, chat_key FROM inbox").fetchall()
    keys = {str(name): key for name, key in rows}
    assert keys["1"] == keys["3"] != keys["2"]
    assert keys["4"] == keys["5"] == "api/work/trip"
    assert stored(db, "5").previous_id == "4"


def test_only_what_is_stored_for_this_agent_can_be_gone_on_from(db: Database) -> None:
    """A private one and another agent's look the same as one that never was."""
    receive(db, NewRequest("1", "work", Body(messages=()), "d"))
    receive(db, NewRequest("2", "home", Body(messages=(), store=True), "d"))
    for previous in ("1", "2", "3"):
        with pytest.raises(UnknownPreviousError):
            receive(db, new("x", previous_id=previous))


def test_handed_back_calls_have_ended_and_their_results_follow(db: Database) -> None:
    """Ids are unique outside; what the agent did besides is put back into a client's history."""
    receive(db, new("1"))
    answered(db, begun(db, "1"), "theirs")
    outcome = stored(db, "1").outcome
    assert outcome is not None
    (call,) = outcome.calls
    assert call.id == "call_t1_2"
    assert db.execute("SELECT state FROM step WHERE seq = 2").get == "done"
    result = ToolResult(call_id=call.id, name="theirs", content="42")
    receive(db, new("2", result, previous_id="1"))
    before = request_history.list_earlier_messages(db, stored(db, "2"), 50)
    assert before[0] == UserMessage(content="1")
    assert isinstance(before[1], AssistantMessage)
    assert [made.id for made in before[1].tool_calls] == [call.id]
    sent = AssistantMessage(tool_calls=before[1].tool_calls)
    elsewhere = replace(stored(db, "2"), agent_id="home")
    assert request_history.restore_messages(db, stored(db, "2"), [sent]) == (before[1],)
    assert request_history.restore_messages(db, elsewhere, [sent]) == (sent,)
    assert invariants.check_invariants(db) == []


def test_past_is_as_long_as_it_must_be(db: Database) -> None:
    """From the newest back, until there is enough."""
    for number in range(1, 5):
        previous = {"previous_id": str(number - 1)} if number > 1 else {}
        receive(db, new(str(number), **previous))
        answered(db, begun(db, str(number)))
    said = [
        message.content for message in request_history.list_earlier_messages(db, stored(db, "4"), 3)
    ]
    assert said == ["2", "done", "3", "done"]


@pytest.mark.parametrize("marked", [True, False])
def test_past_has_no_notice_as_an_answer(
    db: Database,
    marked: bool,  # noqa: FBT001 - pytest passes parameters by name
) -> None:
    """Also one of the first release, which marked none."""
    receive(db, new("1"))
    turn = begun(db, "1")
    answered(db, turn)
    refused = Outcome(
        text=STOP_TEXTS[StopReason.REFUSED], stop_reason=StopReason.REFUSED, notice=marked
    )
    stored_requests.store_outcome(db, turn, refused, 2)
    receive(db, new("2", previous_id="1"))
    said = request_history.list_earlier_messages(db, stored(db, "2"), 50)
    assert [message.content for message in said] == ["1"]


def test_past_of_a_long_loop_begins_with_what_was_asked(db: Database) -> None:
    """However many results came since: without it they would mean nothing."""
    receive(db, new("1"))
    for number in range(1, 4):
        answered(db, begun(db, str(number)), "theirs")
        outcome = stored(db, str(number)).outcome
        assert outcome is not None
        result = ToolResult(call_id=outcome.calls[0].id, name="theirs", content="42")
        receive(db, new(str(number + 1), result, previous_id=str(number)))
    said = request_history.list_earlier_messages(db, stored(db, "4"), 1)
    assert said[0] == UserMessage(content="1")
    assert [message.role for message in said[1:]] == [
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]


def test_old_requests_are_forgotten(db: Database) -> None:
    """Also the newest of them, as no reply goes to a client by itself. Their sessions go, too."""
    receive(db, new("1"))
    answered(db, begun(db, "1"))
    receive(db, new("2"), now=2 * DAY)
    with job(db):
        assert retention.delete_old_turns(db, DAY) == 1
        retention.delete_old_messages(db, DAY)
    rows = db.execute("SELECT id FROM request").fetchall()
    assert rows == [("2",)]
    assert db.execute("SELECT count(*) FROM session").get == 0
    assert invariants.check_invariants(db) == []


def test_request_of_another_user_cannot_be_gone_on_from(db: Database) -> None:
    """Nor can its conversation, or the calls that it handed back; a client is a user, too."""
    receive(db, new("1", user="ann"))
    answered(db, begun(db, "1"), "theirs")
    receive(db, new("2", user="ann", conversation="trip"))
    outcome = stored(db, "1").outcome
    assert outcome is not None
    call = ToolCall(id=outcome.calls[0].id, name="theirs")
    sent = AssistantMessage(tool_calls=(call,))
    for user in ("ben", "api", ""):
        with pytest.raises(UnknownPreviousError):
            receive(db, new(f"3{user}", user=user, previous_id="1"))
        receive(db, new(f"4{user}", user=user, conversation="trip"))
        other = stored(db, f"4{user}")
        assert other.previous_id is None
        assert request_history.restore_messages(db, other, [sent]) == (sent,)
    assert receive(db, new("5", user="ann", previous_id="1")) == "5"
    receive(db, new("6", user="ann", conversation="trip"))
    assert stored(db, "6").previous_id == "2"


def test_request_from_before_users_were_kept_belongs_to_its_sender(db: Database) -> None:
    """It has the user as its sender only, and a client's own has `api`."""
    for name, user in (("1", "ann"), ("2", "")):
        receive(db, new(name, user=user))
    db.execute("UPDATE inbox SET sender_name = ''")
    assert [stored(db, name).user for name in ("1", "2")] == ["ann", ""]


def test_turn_of_a_request_has_the_memory_of_its_user(db: Database) -> None:
    """All requests without one are of one chat."""
    for name, user in (("1", "ann"), ("2", ""), ("3", "ann")):
        receive(db, new(name, user=user))
    scopes = [begun(db, name).scope for name in ("1", "2", "3")]
    assert scopes == ["api:ann", "api:", "api:ann"]
