"""Chat commands, from the channel's message to the answer in the outbox."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.agents_file import validate_file
from fakes.commands import NoQueues, command_desk, no_notice
from fakes.journal import CLASSES, connection_in, next_turn, planned, step, store_in, update

from orchestrator import installed
from orchestrator.channel_api import InboundMessage, ReplyPart
from orchestrator.extension import Extension
from orchestrator.inbound.commands import COMMANDS, ChatCommand, ChatCommandEntry, build_menus
from orchestrator.inbound.intake import JournalIntake
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.inspect import invariants, recent_turns
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
from thinker.protocol.messages import AssistantMessage, ToolResult, Usage, UserMessage

OPERATOR, STRANGER = "7", "8"
AGENTS = validate_file(
    {
        "agents": [
            {"agentId": "work", "llmProvider": "demo"},
            {"agentId": "home", "llmProvider": "demo"},
        ],
        "bindings": [{"channel": "telegram", "chatId": "*", "agentId": "work"}],
        "channels": {"telegram": {"access": "open", "allowlist": [OPERATOR]}},
    }
)
NOW = 1_770_000_000_000


class Chat:
    """A chat and its daemon's intake; ``stopped`` are the turns that commands canceled."""

    def __init__(self, db: Database, store: Store) -> None:
        self.db = db
        self.stopped: list[str] = []
        commands = command_desk(store, lambda: AGENTS, self.stopped.extend, lambda: NOW)
        self._intake = JournalIntake(
            store, lambda: AGENTS, no_notice, NoQueues(), lambda: None, commands, lambda: NOW
        )
        self._number = 0

    async def hears(self, *messages: InboundMessage) -> None:
        """T1 of one batch."""
        await self._intake.accept(messages, 100)

    async def says(self, text: str, chat: str = OPERATOR) -> str:
        """What a message is answered with at once; nothing if it waits for an agent."""
        self._number += 1
        await self.hears(update(self._number, text, chat))
        return "\n".join(outbox.list_notices_to(self.db, f"telegram/1/{chat}/", str(self._number)))

    async def begins(self, text: str) -> None:
        """A turn ``t1`` answers this message of the operator."""
        turns.boot(self.db, NOW)
        assert await self.says(text) == ""
        assert next_turn(self.db, "t1", OPERATOR) is not None


@asynccontextmanager
async def chat_in(folder: Path) -> AsyncIterator[Chat]:
    """A journal and a way into it."""
    store = store_in(folder)
    db = connection_in(folder)
    try:
        yield Chat(db, store)
        assert invariants.check_invariants(db) == []
    finally:
        db.close()
        store.close()


async def test_command_is_answered_at_once_and_no_agent_sees_it(tmp_path: Path) -> None:
    """It ends with T1, whatever its chat waits for; a repeated update changes nothing."""
    async with chat_in(tmp_path) as chat:
        await chat.says("hello")
        assert (await chat.says(" /STATUS ")).splitlines()[1:] == [
            "Agents: work running, home running",
            "Channels: telegram ok",
            "Tool servers: files failed",
            "Messages: 0 in progress, 1 waiting, 0 dead",
        ]
        await chat.hears(update(2, " /STATUS "))
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
        for command in ("/pause", "/resume", "/tasks", "/agents", "/handback"):
            assert "Only my operator" in await chat.says(command, STRANGER)
        for command in ("/approve x", "/deny x", "/approve show x", "/approve files/read"):
            assert "Only a person who may approve calls" in await chat.says(command, STRANGER)
        assert pauses.list_pauses(chat.db) == []
        lines = (await chat.says("/help", STRANGER)).splitlines()
        offered = [line.split()[0].removeprefix("/") for line in lines]
        assert [name for name in offered if name in COMMANDS] == [
            "help",
            "status",
            "new",
            "stop",
            "usage",
        ]
        assert (await chat.says("/start", STRANGER)).splitlines() == lines
        assert "new conversation" in await chat.says("/new", STRANGER)
        assert "not doing anything" in await chat.says("/stop", STRANGER)


async def test_a_guest_reads_the_state_of_the_own_chat_alone(tmp_path: Path) -> None:
    """Other chats and agents are none of a guest's business."""
    async with chat_in(tmp_path) as chat:
        assert await chat.says("hello", "9") == ""
        usage.record_usage(chat.db, "work", None, "demo/m", Usage(prompt=500), 0.0, NOW)
        assert await chat.says("/status", STRANGER) == "work: running\nNothing waits here."
        said = await chat.says("/usage", STRANGER)
        assert said.startswith("this chat: 0 tokens")


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
        assert await chat.says("/agents") == (
            "work: PAUSED (my operator paused me) - answers here\n"
            "home: PAUSED (my operator paused me)"
        )
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


async def test_usage_and_tasks_are_listed(tmp_path: Path) -> None:
    """Today begins at midnight in the agent's zone."""
    async with chat_in(tmp_path) as chat:
        for days, tokens in ((0, 1_000), (2, 500), (9, 7)):
            at = NOW - days * 86_400_000
            usage.record_usage(
                chat.db, "work", None, "a/b", Usage(prompt=tokens), tokens / 1000, at
            )
        assert (await chat.says("/usage")).splitlines() == [
            "work: 1,000 tokens ($1.00) today, 1,500 tokens ($1.50) in 7 days",
            "home: 0 tokens ($0.00) today, 0 tokens ($0.00) in 7 days",
        ]
        usage.record_usage(chat.db, "home", None, "a/c", Usage(prompt=7), None, NOW)
        home, advice = (await chat.says("/usage")).splitlines()[1:]
        assert home == "home: 7 tokens (cost unknown) today, 7 tokens (cost unknown) in 7 days"
        assert advice.startswith('unknown: calls of a/c, which had no price. Set it in "prices" of')
        assert await chat.says("/tasks") == "No task is scheduled."


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
        assert "home: running - answers here" in await chat.says("/agents")
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
