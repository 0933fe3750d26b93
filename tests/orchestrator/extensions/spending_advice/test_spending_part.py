"""What a daemon does about spending: it asks, extends, foresees and names savings."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fakes.agents_file import parsed
from fakes.journal import store_in, update

from orchestrator.agentsfile import AgentsFile
from orchestrator.extensions.spending_advice.cost_answers import (
    BUDGET_EXTEND,
    COSTS_FORECAST,
    COSTS_SAVINGS,
    ExtendedBudget,
    ForecastReport,
    SavingsReport,
)
from orchestrator.extensions.spending_advice.spending_part import SpendingAdvicePart
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import inbox, pauses, usage
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.spending.spending_guard import SpendingGuard
from orchestrator.wakeup import Wakeup
from thinker.protocol.messages import Usage
from thinker.protocol.peer import RpcError

NOON = 1_770_000_000_000
PRICES = {"groq/m": {"input": 1, "output": 1}}
WORK = {"agentId": "work", "llmProvider": "groq", "model": "m", "budget": {"usdPerDay": 0.2}}
FILE: AgentsFile = parsed(
    WORK | {"costControls": {"notifyChannel": "telegram", "notifyChatId": "99"}},
    prices=PRICES,
    budget={"usdPerMonth": 5},
).file


def write_to_the_bot(db: Database) -> None:
    """A message of someone, so that the channel is known."""
    inbox.ingest(db, [Arrival(update(1, chat_id="8"))], None, NOON)


def spend(db: Database, usd: float) -> None:
    """A call of the agent."""
    usage.record_usage(db, "work", None, "groq/m", Usage(prompt=10), usd, NOON)


@asynccontextmanager
async def part_in(folder: Path) -> AsyncIterator[tuple[Store, SpendingAdvicePart]]:
    """The part of a daemon whose agent may spend 20 cents a day, of five dollars a month."""
    store = store_in(folder)
    guard = SpendingGuard(store, lambda: FILE, {"TZ": "UTC"}, lambda: NOON)

    async def in_thread(work: Any, *args: Any) -> Any:
        return work(*args)

    daemon: Any = SimpleNamespace(
        store=store,
        machine=SimpleNamespace(clock=lambda: NOON, in_thread=in_thread),
        operations=SimpleNamespace(guard=guard),
        get_agents_file=lambda: FILE,
        delivery=Wakeup(),
        parts=(),
    )
    yield store, SpendingAdvicePart(daemon)
    store.close()


async def test_extended_budget_resumes_the_agent(tmp_path: Path) -> None:
    """Or says what it still lacks."""
    async with part_in(tmp_path) as (store, part):
        handlers = part.list_authored_methods("web:ann")
        used = Usage(prompt=10)
        await store.transact(usage.record_usage, "work", None, "groq/m", used, 0.25, NOON)
        await store.transact(pauses.begin_pause, "work", "budget", "used up", "budgets", NOON)
        extend = handlers[BUDGET_EXTEND]
        first = ExtendedBudget.model_validate(await extend({"agentId": "work", "usd": "0.01"}))
        assert "$0.0000 of $0.2100 are left" in first.paused
        second = await extend({"agentId": "work", "usd": 0.1})
        assert second == ExtendedBudget(text="work may spend $0.1 more until midnight")
        assert await store.read(pauses.find_pause, "work") is None
        for name in ("", "work"):
            await extend({"agentId": name, "usd": 0.1})
        with pytest.raises(RpcError, match="no limit in dollars"):
            await extend({"agentId": "home", "usd": 0.1})


@pytest.mark.parametrize("usd", [0, -1, 1001, "nan", "inf", "much", None])
async def test_amount_that_is_none_changes_nothing(tmp_path: Path, usd: object) -> None:
    """It comes from a field that anyone may fill in."""
    async with part_in(tmp_path) as (store, part):
        handlers = part.list_authored_methods("web:ann")
        with pytest.raises(RpcError, match="US dollars between"):
            await handlers[BUDGET_EXTEND]({"agentId": "work", "usd": usd})  # type: ignore[dict-item]
        assert await store.read(lambda db: db.execute("SELECT count(*) FROM audit").get) == 0


async def test_forecasts_and_savings_are_answered_of_an_empty_home(tmp_path: Path) -> None:
    """They say why there is nothing."""
    async with part_in(tmp_path) as (_, part):
        handlers = part.list_control_methods(None)
        found = ForecastReport.model_validate(await handlers[COSTS_FORECAST](None))
        assert [one.agent_id for one in found.agents] == ["", "work"]
        assert {one.text for one in found.agents} == {"no forecast yet: it needs a week of use"}
        none = SavingsReport.model_validate(await handlers[COSTS_SAVINGS](None))
        assert none.savings == ()
        assert none.note.startswith("nothing is found")


async def test_look_at_spending_asks_once_and_again_after_a_restart_it_does_not(
    tmp_path: Path,
) -> None:
    """The question is kept in the journal; without a new call or pause nothing is looked at."""
    count = "SELECT count(*) FROM outbox WHERE choices IS NOT NULL"
    async with part_in(tmp_path) as (store, part):
        sent = part.daemon.delivery.changed
        await part.look_at_spending()
        await store.transact(spend, 0.19)
        await store.transact(write_to_the_bot)
        await part.look_at_spending()
        await part.look_at_spending()
        assert await store.read(lambda db: db.execute(count).get) == 1
        assert sent.is_set()
    async with part_in(tmp_path) as (store, part):
        await part.look_at_spending()
        assert await store.read(lambda db: db.execute(count).get) == 1
