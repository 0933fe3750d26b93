"""A button decides once, about its own question, for those who may decide."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from fakes.agents_file import validate_file
from fakes.commands import NoQueues, command_desk, no_notice
from fakes.journal import connection_in, job, next_turn, planned, store_in, update

from orchestrator.channel_api import PRESS, InboundMessage
from orchestrator.inbound.button_press import NOT_APPROVER, UNKNOWN
from orchestrator.inbound.intake import JournalIntake
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import approvals, outbox, pauses, questions, turns
from orchestrator.journal.turns.approvals import LIFETIME

OPERATOR, STRANGER, GROUP = "7", "8", "-9"
AGENTS = validate_file(
    {
        "agents": [{"agentId": "work", "llmProvider": "demo"}],
        "bindings": [
            {"channel": "telegram", "chatId": "*", "agentId": "work"},
            {"channel": "telegram", "chatId": GROUP, "agentId": "work"},
        ],
        "channels": {"telegram": {"access": "allowlist", "allowlist": [OPERATOR, GROUP]}},
    }
)
NOW = 1_770_000_000_000


@dataclass
class Desk:
    """A daemon's intake, and a question with buttons that the operator's chat was sent."""

    db: Database
    store: Store
    now: int = NOW
    presses: int = 0

    def __post_init__(self) -> None:
        """Make the intake."""
        commands = command_desk(self.store, lambda: AGENTS, lambda _: None, lambda: self.now)
        self.intake = JournalIntake(
            store=self.store,
            agents=lambda: AGENTS,
            tell=no_notice,
            queues=NoQueues(),
            on_answer=lambda: None,
            commands=commands,
            clock=lambda: self.now,
        )

    async def ask(self, chat: str = OPERATOR) -> tuple[str, str]:
        """Begin a turn that asks for a call; return the data of its buttons."""
        turns.boot(self.db, NOW)
        await self.intake.accept([update(1, "pay", chat)], 2)
        assert next_turn(self.db, "t1", chat) is not None
        (call,) = planned(self.db, "t1", "pay", arguments={"sum": 3})
        address = outbox.Address("telegram", "1", chat)
        with job(self.db):
            found, _ = approvals.request_approval(self.db, call, "policy", "c0de", NOW)
            questions.ask_question(self.db, found, address, "May I?", 1, NOW)
        row = outbox.find_next_row(self.db, address.chat_key)
        assert row is not None
        approve, deny = questions.build_choices(self.db, row, NOW)
        with job(self.db):
            outbox.mark_sending(self.db, row.id, "sending", NOW)
            questions.mark_delivered(self.db, row, "5", NOW)
        return approve.data, deny.data

    def press(self, data: str, chat: str = OPERATOR, sender: str = OPERATOR) -> InboundMessage:
        """A press that Telegram reports."""
        self.presses += 1
        return InboundMessage(
            channel="telegram",
            bot_id="1",
            chat_id=chat,
            message_id=f"press:{self.presses}",
            sender_id=sender,
            text=f"{data} 5",
            update_id=100 + self.presses,
            kind=PRESS,
            private=not chat.startswith("-"),
            personal=not sender.startswith("-"),
        )

    async def pressed(self, *messages: InboundMessage) -> list[str]:
        """What the people who pressed are shown."""
        return list((await self.intake.accept(messages, 200)).values())

    def state(self) -> str:
        """The state of the approval."""
        found = approvals.find_approval(self.db, "c0de")
        assert found is not None
        return found.state

    def notices(self) -> int:
        """How many messages chats were sent."""
        return int(self.db.execute("SELECT count(*) FROM outbox WHERE mode = 'direct'").get or 0)


@asynccontextmanager
async def desk_in(folder: Path) -> AsyncIterator[Desk]:
    """Open a journal."""
    store = store_in(folder)
    db = connection_in(folder)
    try:
        yield Desk(db, store)
    finally:
        db.close()
        store.close()


async def test_press_for_a_held_agent_is_told_why_nothing_is_decided(tmp_path: Path) -> None:
    """The question keeps its buttons."""
    async with desk_in(tmp_path) as desk:
        approve, _ = await desk.ask()
        held = (pauses.HOLD.format("work"), "it moves")
        desk.db.execute("INSERT INTO meta VALUES(?,?)", held)
        (answer,) = await desk.pressed(desk.press(approve))
        assert answer.startswith("nothing was decided")
        assert "it moves" in answer
        assert desk.state() == "pending"
        assert outbox.find_next_row(desk.db, "telegram/1/7/") is None


@pytest.mark.parametrize(("which", "state"), [(0, "granted"), (1, "denied")])
async def test_an_operator_decides_with_one_press(tmp_path: Path, which: int, state: str) -> None:
    """The person is shown the outcome; the chat sees it in the question, not in a message."""
    async with desk_in(tmp_path) as desk:
        data = await desk.ask()
        (answer,) = await desk.pressed(desk.press(data[which]))
        assert desk.state() == state
        assert "telegram:7" in answer
        assert desk.notices() == 1
        row = outbox.find_next_row(desk.db, "telegram/1/7/")
        assert row is not None
        assert (row.mode, row.ph_id) == ("edit", "5")


async def test_button_that_sends_a_command_is_answered_as_the_command(tmp_path: Path) -> None:
    """In the role of who presses it; there is no message of it, and no agent sees it."""
    async with desk_in(tmp_path) as desk:
        part = outbox.OutboxPart("Pause?", choices='{"Pause": "/pause work"}')
        with job(desk.db):
            turns.boot(desk.db, NOW)
            outbox.add_extra(
                desk.db, None, outbox.Address("telegram", "1", GROUP), (part,), "direct", NOW
            )
        row = outbox.find_next_row(desk.db, f"telegram/1/{GROUP}/")
        assert row is not None
        (choice,) = questions.build_choices(desk.db, row, NOW)
        assert choice.label == "Pause"
        (refused,) = await desk.pressed(desk.press(choice.data, GROUP, STRANGER))
        assert "Only my operator may use /pause" in refused
        assert pauses.list_pauses(desk.db) == []
        (answer,) = await desk.pressed(desk.press(choice.data, GROUP))
        assert answer == "Agent 'work' is paused; its messages are kept. /resume work"
        assert [pause.agent_id for pause in pauses.list_pauses(desk.db)] == ["work"]
        assert desk.notices() == 1
        forged = desk.press("/resume work", GROUP), desk.press(choice.data, OPERATOR)
        assert await desk.pressed(*forged) == [UNKNOWN, UNKNOWN]


async def test_the_same_update_and_later_presses_change_nothing(tmp_path: Path) -> None:
    """Telegram repeats updates, and people press twice."""
    async with desk_in(tmp_path) as desk:
        approve, deny = await desk.ask()
        first = desk.press(approve)
        (answer,) = await desk.pressed(first)
        assert await desk.pressed(first, first) == []
        assert await desk.pressed(desk.press(deny), desk.press(approve)) == [answer, answer]
        assert desk.state() == "granted"
        edits = desk.db.execute("SELECT count(*) FROM outbox WHERE mode = 'edit'").get
        assert edits == 1


@pytest.mark.parametrize("sender", [STRANGER, GROUP, "-7"])
async def test_a_member_of_a_group_who_is_no_operator_decides_nothing(
    tmp_path: Path, sender: str
) -> None:
    """The same rule as for the command."""
    async with desk_in(tmp_path) as desk:
        approve, _ = await desk.ask(GROUP)
        assert await desk.pressed(desk.press(approve, GROUP, sender)) == [NOT_APPROVER]
        assert desk.state() == "pending"
        await desk.pressed(desk.press(approve, GROUP))
        assert desk.state() == "granted"


async def test_a_press_in_a_chat_that_is_not_admitted_decides_nothing(tmp_path: Path) -> None:
    """It is refused as a message is, and gets no pairing code."""
    async with desk_in(tmp_path) as desk:
        approve, _ = await desk.ask()
        assert await desk.pressed(desk.press(approve, STRANGER, STRANGER)) == [NOT_APPROVER]
        assert (desk.state(), desk.notices()) == ("pending", 1)


async def test_a_button_counts_in_its_own_chat_with_its_own_digest(tmp_path: Path) -> None:
    """A client can send any data."""
    async with desk_in(tmp_path) as desk:
        approve, _ = await desk.ask()
        forged = f"{approve[:-1]}{'0' if approve[-1] != '0' else '1'}"
        for data in (forged, "y:c0de:", "y:other:00", "", f"{approve} 5", "/approve c0de"):
            assert await desk.pressed(desk.press(data)) == [UNKNOWN]
        assert await desk.pressed(desk.press(approve, GROUP)) == [UNKNOWN]
        with job(desk.db):
            desk.db.execute("UPDATE approval SET args_hash = 'of other arguments'")
        assert await desk.pressed(desk.press(approve)) == [UNKNOWN]
        assert desk.state() == "pending"


async def test_a_press_after_the_end_of_the_question_says_so(tmp_path: Path) -> None:
    """Nothing runs that was not decided in time."""
    async with desk_in(tmp_path) as desk:
        approve, _ = await desk.ask()
        desk.now += LIFETIME
        (answer,) = await desk.pressed(desk.press(approve))
        assert "expired" in answer
        assert desk.state() == "pending"


async def test_no_text_is_taken_for_a_press(tmp_path: Path) -> None:
    """What people write is a message or a command."""
    async with desk_in(tmp_path) as desk:
        approve, _ = await desk.ask()
        await desk.intake.accept([update(50, f"/press {approve} 5", OPERATOR)], 200)
        await desk.intake.accept([update(51, f"{approve} 5", OPERATOR)], 200)
        assert desk.state() == "pending"
