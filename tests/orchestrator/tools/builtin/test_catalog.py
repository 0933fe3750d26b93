"""The tools that the supervisor answers, and which of them an agent is offered."""

from dataclasses import replace

import pytest
from fakes.journal import next_turn, receive, update
from fakes.tool_call import run

from orchestrator.channel_api import ReplyPart
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import outbox
from orchestrator.journal.turns.outbox import Address
from orchestrator.tools.builtin import clock, send_message
from orchestrator.tools.builtin.host_tool import (
    DelegatingTool,
    JournalTool,
    ToolContext,
    ToolFailure,
)
from orchestrator.tools.host_tools import list_own_tools
from thinker.protocol.messages import SideEffect

TOOLS = list_own_tools()


@pytest.fixture
def context(context: ToolContext) -> ToolContext:
    """A call whose channel splits at bars and edits messages in private chats."""
    return replace(
        context,
        split=lambda _, text: tuple(map(ReplyPart, text.split("|"))) if text else (),
        mode=lambda address: "edit" if address.private else "direct",
    )


def test_time_is_told_in_the_users_zone_or_any_other(db: Database, context: ToolContext) -> None:
    """With the offset, so that a model need not guess."""
    assert run(clock.get_time, db, context) == (
        "Thursday, 2026-02-12 07:00:00 -0500 (America/New_York)"
    )
    assert "21:00:00 +0900" in run(clock.get_time, db, context, timezone=" Asia/Tokyo ")


@pytest.mark.parametrize("zone", ["Mars/Base", "../etc/passwd", "/etc", "Europe", "a\0", "x" * 999])
def test_unknown_time_zone_is_an_answer_to_the_model(
    db: Database, context: ToolContext, zone: str
) -> None:
    """And no file outside the zone data is touched."""
    with pytest.raises(ToolFailure, match="use one such as Europe/Berlin"):
        run(clock.get_time, db, context, timezone=zone)


def test_message_is_queued_for_the_current_chat(db: Database, context: ToolContext) -> None:
    """In the channel's parts, with the turn that sent it."""
    answer = run(send_message.send_message, db, context, message="one|two")
    assert answer == "Queued for delivery to chat 7."
    assert outbox.list_texts_of_turn(db, "t1") == ("one", "two")
    (row,) = outbox.list_due_rows(db, "telegram")
    assert (row.chat_id, row.turn_id, row.mode) == ("7", "t1", "edit")


def test_message_goes_to_no_chat_that_has_not_talked_to_the_agent(
    db: Database, context: ToolContext
) -> None:
    """Not to strangers, not to another agent's chats, not by another channel's name."""
    receive(db, update(2, chat_id="8"))
    for tool in (send_message.send_message, send_message.send_telegram):
        with pytest.raises(ToolFailure, match="may write to"):
            run(tool, db, context, message="hi", chat_id="8")
    console = replace(context, address=Address("console", "local", "7"))
    with pytest.raises(ToolFailure, match="no telegram chat ''"):
        run(send_message.send_telegram, db, console, message="hi")
    with pytest.raises(ToolFailure, match="message is empty"):
        run(send_message.send_message, db, context, message=" ")
    assert outbox.list_due_rows(db, "telegram") == []


def test_message_reaches_a_chat_that_the_agent_knows_from_elsewhere(
    db: Database, context: ToolContext
) -> None:
    """From the console to the Telegram chat it has talked in, by the account that it knows."""
    console = replace(context, address=Address("console", "local", "operator"))
    run(send_message.send_telegram, db, console, message="hi", chat_id="7")
    (row,) = outbox.list_due_rows(db, "telegram")
    assert (row.channel, row.bot_id, row.chat_id) == ("telegram", "1", "7")


def test_every_tool_says_what_running_it_twice_would_do() -> None:
    """Those that change the journal do so in one transaction with their result."""
    for name, tool in TOOLS.items():
        assert tool.spec.name == name
        assert tool.spec.parameters["type"] == "object"
        if tool.spec.side_effect is SideEffect.LOCAL_TX:
            assert isinstance(tool, JournalTool | DelegatingTool)
        else:
            assert tool.spec.side_effect is SideEffect.PURE


def test_turn_sends_a_handful_of_messages(db: Database, context: ToolContext) -> None:
    """The parts of a long text count; what does not fit is not sent at all."""
    for _ in range(2):
        run(send_message.send_message, db, context, message="one|two")
    with pytest.raises(ToolFailure, match="a turn may send 5 messages"):
        run(send_message.send_message, db, context, message="three|four")
    run(send_message.send_telegram, db, context, message="five")
    with pytest.raises(ToolFailure, match="nothing was sent"):
        run(send_message.send_telegram, db, context, message="six")
    assert len(outbox.list_texts_of_turn(db, "t1")) == send_message.MAX_MESSAGES


def test_message_goes_to_no_chat_that_the_turn_may_not_write_to(
    db: Database, context: ToolContext
) -> None:
    """A known chat looks like an unknown one."""
    receive(db, update(2, chat_id="8"))
    next_turn(db, "t2", "8")
    confined = replace(context, may_write=lambda *_: False)
    for tool in (send_message.send_message, send_message.send_telegram):
        with pytest.raises(ToolFailure, match="this agent knows no telegram chat '8'"):
            run(tool, db, confined, message="hi", chat_id="8")
        run(tool, db, confined, message="hi", chat_id="7")
    run(send_message.send_message, db, context, message="hi", chat_id="8")
