"""Chat commands, from the channel's message to the answer in the outbox."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.commanded_chat import NOW, OPERATOR, STRANGER, chat_in
from fakes.journal import CLASSES, next_turn, planned, step, update

from orchestrator import installed
from orchestrator.channel_api import ReplyPart
from orchestrator.extension import Extension
from orchestrator.inbound.commands import COMMANDS, ChatCommand, ChatCommandEntry, build_menus
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import recent_turns
from orchestrator.journal.turns import (
    approvals,
    handoffs,
    inbox,
    outbox,
    pauses,
    sessions,
    steps,
    turns,
    usage,
)
from thinker.protocol.messages import AssistantMessage, ToolResult, UserMessage


async def test_command_is_answered_at_once_and_no_agent_sees_it(tmp_path: Path) -> None:
    """It ends with T1, whatever its chat waits for; a repeated update changes nothing."""
    async with chat_in(tmp_path) as chat:
        await chat.says("hello")
        assert (await chat.says(" /HELP ")).startswith("/help - list the commands")
        await chat.hears(update(2, " /HELP "))
        counts = recent_turns.count_messages_by_state(chat.db)
        assert (counts["new"], counts["done"]) == (1, 1)
        rows = chat.db.execute("SELECT count(*) FROM outbox").get
        assert rows == 1


async def test_text_that_only_looks_like_a_command_goes_to_the_agent(tmp_path: Path) -> None:
    """A path, a slash in the middle, an edit."""
    async with chat_in(tmp_path) as chat:
        for text in ("/etc/passwd is what?", "a /help", "/", "//help", "/1"):
            assert await chat.says(text) == ""
        await chat.hears(replace(update(99, "/new"), kind="edit"))
        assert recent_turns.count_messages_by_state(chat.db)["new"] == 6


async def test_unknown_command_says_so(tmp_path: Path) -> None:
    """No model guesses what it might mean."""
    async with chat_in(tmp_path) as chat:
        assert "/help" in await chat.says("/stpo now")
        assert recent_turns.count_messages_by_state(chat.db)["new"] == 0


async def test_stranger_may_only_help_themselves(tmp_path: Path) -> None:
    """Admitted to talk is not admitted to steer, however open the bot is."""
    async with chat_in(tmp_path) as chat:
        for command in ("/pause", "/resume", "/handback"):
            assert "Only my operator" in await chat.says(command, STRANGER)
        for command in ("/approve x", "/deny x", "/approve show x", "/approve files/read"):
            assert "Only a person who may approve calls" in await chat.says(command, STRANGER)
        assert pauses.list_pauses(chat.db) == []
        lines = (await chat.says("/help", STRANGER)).splitlines()
        offered = [line.split()[0].removeprefix("/") for line in lines]
        assert [name for name in offered if name in COMMANDS] == ["help", "new", "stop"]
        assert (await chat.says("/start", STRANGER)).splitlines() == lines
        assert "new conversation" in await chat.says("/new", STRANGER)
        assert "not doing anything" in await chat.says("/stop", STRANGER)


@pytest.mark.parametrize(
    "fields",
    [
        {"origin": "other_user"},
        {"kind": "edit", "edit_date": 5},
        {"text": "> /pause work"},
        {"sender_id": "-55", "personal": False},
    ],
)
async def test_a_command_counts_only_in_fresh_words_of_its_author(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    """Forwarded, edited, quoted, or in the name of a channel, it is text for the agent."""
    async with chat_in(tmp_path) as chat:
        message = replace(update(1, "/pause work"), chat_id="-100", private=False)
        message = replace(message, replied_to_bot=True)
        await chat.hears(replace(message, **({"sender_id": OPERATOR} | fields)))
        assert pauses.list_pauses(chat.db) == []
        (row,) = inbox.INBOX.select(chat.db, "true")
        assert (row.state, row.kind != "command") == ("new", True)


async def test_everybody_in_a_group_is_a_stranger_but_the_operator(tmp_path: Path) -> None:
    """The group is admitted, its members are not operators for that; nor is its own name."""
    group = replace(update(1, "/pause"), chat_id="-100", private=False, mentioned=True)
    async with chat_in(tmp_path) as chat:
        await chat.hears(replace(group, sender_id="-100", personal=False))
        await chat.hears(replace(group, message_id="2", update_id=2, sender_id=STRANGER))
        assert pauses.list_pauses(chat.db) == []
        await chat.hears(replace(group, message_id="3", update_id=3, sender_id=OPERATOR))
        assert [pause.agent_id for pause in pauses.list_pauses(chat.db)] == ["work"]


async def test_agent_of_the_chat_or_a_named_one_is_paused_and_resumed(tmp_path: Path) -> None:
    """The audit log says who did it."""
    async with chat_in(tmp_path) as chat:
        assert "'work' is paused" in await chat.says("/pause")
        assert "'home' is paused" in await chat.says("/pause home")
        assert "no agent 'hmoe'" in await chat.says("/resume hmoe")
        assert [pause.agent_id for pause in pauses.list_pauses(chat.db)] == ["home", "work"]
        assert await chat.says("/resume home") == "Agent 'home' continues."
        assert [pause.agent_id for pause in pauses.list_pauses(chat.db)] == ["work"]
        assert {row for (row,) in chat.db.execute("SELECT actor FROM audit")} == {"telegram:7"}


async def test_new_conversation_leaves_the_old_one_behind(tmp_path: Path) -> None:
    """The open turn still belongs to the old one."""
    async with chat_in(tmp_path) as chat:
        await chat.begins("hello")
        await chat.says("/new")
        turn = turns.load_turn(chat.db, "t1")
        turns.end_with_reply(
            chat.db, turn, [outbox.OutboxPart("hi")], "direct", ("done", None), NOW
        )
        await chat.says("again")
        assert next_turn(chat.db, "t2", OPERATOR) is not None
        fresh = sessions.open_session(chat.db, "work", "telegram/1/7/", NOW)
        assert turn.session_id != fresh


async def test_stopped_turn_is_cancelled_with_everything_in_it(tmp_path: Path) -> None:
    """Uncertain effects are named, the messages stay, an open question is withdrawn."""
    async with chat_in(tmp_path) as chat:
        await chat.begins("pay and tell")
        mail, note = planned(chat.db, "t1", "mail", "note")
        approvals.request_approval(chat.db, note, "because", "c0de", NOW)
        steps.mark_intent(chat.db, "t1", mail.seq, 1, NOW)
        usage.reserve_amount(chat.db, "work", "t1", "demo/demo", usage.Amount(5), NOW)
        assert await chat.says("/stop") == (
            "Stopped.\n⚠️ I couldn't confirm whether this happened: mail."
        )
        assert chat.stopped == ["t1"]
        assert recent_turns.count_messages_by_state(chat.db)["cancelled"] == 1
        assert approvals.list_pending_approvals(chat.db, NOW) == []
        assert "No call waits" in await chat.says("/approve c0de")
        assert usage.sum_spending(chat.db, "work", 0).tokens == 5
        said = sessions.list_history(chat.db, 1, 50)
        assert said[0] == UserMessage(content="pay and tell")
        assert [type(message) for message in said[1:]] == [
            AssistantMessage,
            ToolResult,
            ToolResult,
        ]
        assert await chat.says("/stop") == "I am not doing anything here."


async def test_call_is_granted_by_its_code_once(tmp_path: Path) -> None:
    """As with the command line; the audit log names the operator."""
    async with chat_in(tmp_path) as chat:
        await chat.begins("write it down")
        (note,) = planned(chat.db, "t1", "note")
        approvals.request_approval(chat.db, note, "because", "c0de", NOW)
        assert "Which call" in await chat.says("/approve")
        assert await chat.says("/approve c0de") == "Granted: note."
        assert "No call waits" in await chat.says("/deny c0de")
        assert approvals.use_approval(chat.db, note, NOW)


async def test_call_of_a_held_agent_is_not_decided(tmp_path: Path) -> None:
    """The person hears what to do instead."""
    async with chat_in(tmp_path) as chat:
        await chat.begins("write it down")
        (note,) = planned(chat.db, "t1", "note")
        approvals.request_approval(chat.db, note, "because", "c0de", NOW)
        agent_id = str(chat.db.execute("SELECT agent_id FROM turn").get)
        chat.db.execute("INSERT INTO meta VALUES(?, 'run it again')", (f"pause_held {agent_id}",))
        assert "run it again" in await chat.says("/approve c0de")
        assert not approvals.use_approval(chat.db, note, NOW)


async def test_command_that_fails_takes_nothing_else_along(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The chat gets an apology, the batch is stored, the log has the reason."""
    async with chat_in(tmp_path) as chat:
        chat.db.execute("DROP TABLE pause_told")
        chat.db.execute("DROP TABLE pause")
        await chat.hears(update(1, "/pause"), update(2, "hello"))
        assert outbox.list_notices_to(chat.db, "telegram/1/7/", "1") == (
            "That did not work; my operator's log says why.",
        )
        assert recent_turns.count_messages_by_state(chat.db)["new"] == 1
    assert "command_failed" in capsys.readouterr().out + capsys.readouterr().err


async def test_preview_of_a_stopped_turn_ends_so(tmp_path: Path) -> None:
    """At once, or at the next start if the daemon died in between."""
    async with chat_in(tmp_path) as chat:
        await chat.begins("tell me a tale")
        address = inbox.list_opening_messages(chat.db, "t1")[0].build_address()
        outbox.start_preview(chat.db, "t1", address, outbox.OutboxPart("Once …"), NOW)
        row = outbox.list_due_rows(chat.db, "telegram")[0].id
        outbox.mark_placeholder_sent(chat.db, row, "m5")
        steps.plan(chat.db, step("t1", "read"), CLASSES, 1, NOW)
        await chat.says("/stop")
        turns.boot(chat.db, NOW)
        closed = ("Once\n\n(stopped)", "ph_sent", "m5")
        asked = "SELECT body, state, ph_id FROM outbox"
        assert chat.db.execute(f"{asked} WHERE id = ?", (row,)).fetchone() == closed
        turns.close_preview(chat.db, "t1", ReplyPart("later\n\n(stopped)"))
        assert chat.db.execute(f"{asked} WHERE id = ?", (row,)).fetchone() == closed


async def test_chat_that_was_handed_over_goes_back_with_its_conversation(tmp_path: Path) -> None:
    """An operator's command undoes a handoff; the session is the first agent's again."""
    async with chat_in(tmp_path) as chat:
        await chat.begins("hello")
        handoffs.hand_over_turn(chat.db, "t1", "home", NOW)
        assert await chat.says("/handback", STRANGER) == (
            "Only my operator may use /handback. /help lists what you can."
        )
        assert await chat.says("/handback") == "Agent 'work' answers here again."
        assert await chat.says("/handback") == "This chat was not handed over."
        assert sessions.open_session(chat.db, "work", f"telegram/1/{OPERATOR}/", NOW) == 1


class Bells(Extension):
    """A bundled extension with a command for those who may approve calls."""

    name = "bells"

    def list_chat_commands(self) -> dict[str, ChatCommandEntry]:
        def ring(db: Database, command: ChatCommand) -> str:
            del db
            return f"Rung {command.argument or 'once'}."

        return {"ring": ChatCommandEntry("TIMES: ring the bell", "approve", ring)}


async def test_command_of_an_extension_is_one_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It needs its role, and is offered where those who have it look."""
    found = installed.find_installed()
    changed = found._replace(own={**found.own, "bells": Bells()})
    monkeypatch.setattr(installed, "find_installed", lambda: changed)
    async with chat_in(tmp_path) as chat:
        assert await chat.says("/ring twice") == "Rung twice."
        assert "/ring - TIMES: ring the bell" in await chat.says("/help")
        assert "approve calls may use /ring" in await chat.says("/ring", STRANGER)
        assert "/ring" not in await chat.says("/help", STRANGER)
    menus = build_menus()
    assert "ring" in menus["all_private_chats"]
    assert "ring" not in menus["default"]
