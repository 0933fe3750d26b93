"""The question for more money: when it is asked, whom, and what its buttons do."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fakes.agents_file import validate_file
from fakes.commands import NoQueues, command_desk, no_notice
from fakes.journal import connection_in, job, store_in, update

from orchestrator.agentsfile import AgentsFile
from orchestrator.channel_api import PRESS, Choice, InboundMessage
from orchestrator.extensions.spending_advice.budget_questions import (
    STALE,
    Shortage,
    ask_for_money,
    find_shortage,
    round_up_sum,
)
from orchestrator.inbound.intake import JournalIntake
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import outbox, pauses, questions, usage
from orchestrator.journal.turns.outbox import OutboxRow
from orchestrator.journal.turns.usage import SHARED
from orchestrator.spending.spending_rules import SpendingRules
from thinker.protocol.messages import Usage

OPERATOR, SECOND, STRANGER = "7", "6", "8"
NOON = 1_770_897_600_000  # 2026-02-12 12:00 UTC
HOUR = 3_600_000
DAY = 24 * HOUR


def home(own: dict[str, Any] | None = None, **shared: Any) -> AgentsFile:
    """A home with two operators in Telegram, a guest, and these budgets."""
    work: dict[str, Any] = {"agentId": "work", "llmProvider": "demo"}
    return validate_file(
        {
            "agents": [work | ({"budget": own} if own else {})],
            "bindings": [{"channel": "telegram", "chatId": "*", "agentId": "work"}],
            "channels": {"telegram": {"access": "open", "allowlist": [OPERATOR, SECOND]}},
            "budget": shared,
        }
    )


@dataclass
class Desk:
    """A daemon's intake, and what it sends."""

    db: Database
    store: Store
    file: AgentsFile
    now: int = NOON
    number: int = 10

    def __post_init__(self) -> None:
        """Make the intake."""
        commands = command_desk(self.store, lambda: self.file, lambda _: None, lambda: self.now)
        self.intake = JournalIntake(
            store=self.store,
            agents=lambda: self.file,
            tell=no_notice,
            queues=NoQueues(),
            on_answer=lambda: None,
            commands=commands,
            clock=lambda: self.now,
        )

    def rules(self) -> SpendingRules:
        """The rules of now."""
        return SpendingRules(self.file, {"TZ": "UTC"}, lambda: self.now, 0)

    def spend(self, usd: float, at: int = NOON) -> None:
        """A call of the agent."""
        with job(self.db):
            usage.record_usage(self.db, "work", None, "a/b", Usage(prompt=10), usd, at)

    def asks(self) -> list[OutboxRow]:
        """Look at the spending; the questions that were sent now, as delivered."""
        newest = self.db.execute("SELECT ifnull(max(id), 0) FROM outbox").get
        with job(self.db):
            ask_for_money(self.db, self.rules())
        found = outbox.OUTBOX.select(self.db, "id > ? ORDER BY id", newest)
        for row in found:
            with job(self.db):
                outbox.mark_delivered(self.db, row, str(500 + row.id), self.now)
        return found

    def buttons(self, row: OutboxRow) -> tuple[Choice, ...]:
        """The buttons of a message."""
        return questions.build_choices(self.db, row, self.now)

    async def press(self, row: OutboxRow, button: int, sender: str = "") -> str:
        """Press a button of a message; what the person is shown: by default its operator."""
        self.number += 1
        message = InboundMessage(
            "telegram",
            "1",
            row.chat_id,
            f"press:{self.number}",
            sender or row.chat_id,
            text=f"{self.buttons(row)[button].data} {500 + row.id}",
            update_id=self.number,
            kind=PRESS,
            private=not sender,
        )
        return (await self.intake.accept([message], self.number))[message.message_id]

    async def says(self, text: str, chat: str = OPERATOR) -> str:
        """What a message is answered with at once."""
        self.number += 1
        await self.intake.accept([update(self.number, text, chat)], self.number)
        address = f"telegram/1/{chat}/"
        return "\n".join(outbox.list_notices_to(self.db, address, str(self.number)))

    def edits(self) -> list[str]:
        """The last lines of messages that were edited."""
        rows = self.db.execute("SELECT body FROM outbox WHERE mode = 'edit' ORDER BY id")
        return [str(body).splitlines()[-1] for (body,) in rows]


@asynccontextmanager
async def desk_in(folder: Path, file: AgentsFile) -> AsyncIterator[Desk]:
    """A home whose operators and a guest have written before."""
    store, db = store_in(folder), connection_in(folder)
    try:
        desk = Desk(db, store, file)
        for number, chat in enumerate((SECOND, OPERATOR, STRANGER)):
            await desk.intake.accept([update(number, "hello", chat)], number)
        yield desk
        assert audit.find_broken_entry(db) is None
    finally:
        db.close()
        store.close()


async def test_all_operators_are_asked_once_a_day(tmp_path: Path) -> None:
    """With what is spent, what is left to say, and the same as a command."""
    async with desk_in(tmp_path, home(usdPerMonth=5)) as desk:
        desk.spend(3.9)
        assert desk.asks() == []
        desk.spend(0.2)
        rows = desk.asks()
        assert [row.chat_id for row in rows] == [OPERATOR, SECOND]
        assert rows[0].body == (
            "⚠️ All agents together: $4.10 of $5.00 a month are spent. May it be $1 more until"
            " midnight?\n/budget extend 1"
        )
        labels = [choice.label for choice in desk.buttons(rows[0])]
        assert labels == ["Extend by $1 today", "Keep the limit"]
        assert all(len(choice.data.encode()) <= 64 for choice in desk.buttons(rows[0]))
        desk.spend(0.2)
        assert desk.asks() == []
        desk.now += DAY
        assert len(desk.asks()) == 2


async def test_pressed_extension_counts_once_and_shows_everyone_the_outcome(
    tmp_path: Path,
) -> None:
    """The limit is higher until midnight, by whom is in the audit log, agents go on."""
    async with desk_in(tmp_path, home(usdPerMonth=5)) as desk:
        desk.spend(5)
        with job(desk.db):
            reason = "$0.0000 of $5.0000 are left of the shared budget usdPerMonth"
            pauses.begin_pause(desk.db, "work", "budget", reason, "budgets", NOON)
        rows = desk.asks()
        told = await desk.press(rows[0], 0)
        assert told == "All agents together may spend $1 more until midnight."
        assert pauses.list_pauses(desk.db) == []
        assert desk.edits() == ["✅ $1 more until midnight, by telegram:7."] * 2
        assert await desk.press(rows[1], 1) == "This was decided before: extended."
        ((limits, _),) = desk.rules().list_budgets(desk.db)[SHARED]
        assert limits.usd == 6
        acts = desk.db.execute("SELECT actor, act FROM audit WHERE object = 'shared budget'")
        assert acts.fetchall() == [("telegram:7", "may spend $1 more today")]


async def test_only_operators_may_press(tmp_path: Path) -> None:
    """Not other people who see the message, such as in a group."""
    async with desk_in(tmp_path, home(usdPerMonth=5)) as desk:
        desk.spend(4.5)
        row = desk.asks()[0]
        assert "Only my operator may use /budget" in await desk.press(row, 0, STRANGER)
        assert desk.edits() == []
        assert "Only my operator" in await desk.says("/budget extend 2", STRANGER)


async def test_limit_that_is_kept_is_not_asked_about_again_that_day(tmp_path: Path) -> None:
    """The message says by whom."""
    async with desk_in(tmp_path, home(usdPerMonth=5)) as desk:
        desk.spend(4.5)
        row = desk.asks()[0]
        told = await desk.press(row, 1)
        assert told == "The limit stays as it is. I ask again tomorrow, if need be."
        assert desk.edits() == ["❌ The limit stays, by telegram:7."] * 2
        assert await desk.press(row, 0) == "This was decided before: kept."
        desk.spend(0.4)
        assert desk.asks() == []


@pytest.mark.parametrize("button", [0, 1])
async def test_button_of_another_day_does_nothing_and_says_so(tmp_path: Path, button: int) -> None:
    """Whether that day's budget is asked about again or not."""
    async with desk_in(tmp_path, home(usdPerMonth=5)) as desk:
        desk.spend(4.5)
        row = desk.asks()[0]
        desk.now += DAY
        assert await desk.press(row, button) == STALE
        assert len(desk.asks()) == 2
        assert await desk.press(row, button) == STALE
        assert desk.db.execute("SELECT count(*) FROM audit WHERE actor <> 'policy'").get == 0


async def test_written_command_is_the_same_and_answers_the_question(tmp_path: Path) -> None:
    """Of an agent's own budget by its name, or in its chat."""
    async with desk_in(tmp_path, home({"usdPerDay": 1})) as desk:
        desk.spend(0.9)
        (row, _) = desk.asks()
        assert row.body.endswith("/budget extend 0.2 work")
        assert row.body.startswith("⚠️ work: $0.90 of $1.00 a day are spent.")
        assert await desk.says("/budget extend $0.3") == "Work may spend $0.3 more until midnight."
        assert desk.edits() == ["✅ $0.3 more until midnight, by telegram:7."] * 2
        assert "work, this day: $0.90 of $1.30" in await desk.says("/budget")
        assert "no limit in dollars" in await desk.says("/budget extend 1 home")
        for wrong in ("extend", "extend 0", "extend 2000", "extend -1", "more", "yes"):
            assert (await desk.says(f"/budget {wrong}")).startswith("Write /budget, or")


async def test_forecast_decides_where_there_is_one(tmp_path: Path) -> None:
    """Four fifths in the evening are no reason to ask, at noon they are."""
    async with desk_in(tmp_path, home({"usdPerDay": 1})) as desk:
        for hour in range(24 * 20):
            if hour % 24 < 18:  # from midnight to six in the evening
                desk.spend(0.05, NOON - 12 * HOUR - DAY * 20 + hour * HOUR)
        for usd, expected in ((0.6, False), (0.25, True)):
            desk.spend(usd)
            short = find_shortage(desk.db, desk.rules(), "work")
            assert (short is not None) is expected
        assert short is not None
        assert short.foreseen == pytest.approx(0.85 + 6 * 0.05, abs=0.02)
        desk.now += 8 * HOUR
        assert find_shortage(desk.db, desk.rules(), "work") is None


def test_asked_sum_is_round_and_enough() -> None:
    """It covers what is foreseen, or a fifth of the limit, and never more than a slip may cost."""
    assert [round_up_sum(usd) for usd in (0.001, 0.02, 0.021, 0.3, 1, 1.01, 7, 11)] == [
        0.01,
        0.02,
        0.05,
        0.5,
        1,
        2,
        10,
        20,
    ]
    assert Shortage("Day", 4.0, 5.0, 6.7).choose_extension() == 2
    assert Shortage("Day", 4.0, 5.0, None).choose_extension() == 1
    assert Shortage("Month", 9_000.0, 9_000.0, 20_000.0).choose_extension() == 1000
