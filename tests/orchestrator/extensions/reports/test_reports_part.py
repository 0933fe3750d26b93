"""Decisions of the page and of commands: refused chats and extended budgets."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fakes.agents_file import parsed
from fakes.journal import store_in
from pydantic import JsonValue

from orchestrator.extensions.reports.reports_part import (
    BUDGET_EXTEND,
    PAIR_REFUSE,
    PAIR_RESTORE,
    ExtendedBudget,
    ReportsPart,
)
from orchestrator.journal.access import pairing
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import pauses, usage
from orchestrator.journal.turns.outbox import Address
from orchestrator.spending.spending_guard import SpendingGuard
from thinker.protocol.messages import Usage
from thinker.protocol.peer import RequestHandler, RpcError

NOON = 1_770_000_000_000


@asynccontextmanager
async def handlers_in(folder: Path) -> AsyncIterator[tuple[Store, dict[str, RequestHandler]]]:
    """The requests of Ann on the page, to a daemon whose agent may spend 20 cents a day."""
    agent = {"agentId": "work", "llmProvider": "groq", "model": "m", "budget": {"usdPerDay": 0.2}}
    file = parsed(agent, prices={"groq/m": {"input": 1, "output": 1}}).file
    store = store_in(folder)
    guard = SpendingGuard(store, lambda: file, {"TZ": "UTC"}, lambda: NOON)
    daemon: Any = SimpleNamespace(
        store=store,
        machine=SimpleNamespace(clock=lambda: NOON),
        operations=SimpleNamespace(guard=guard),
    )
    yield store, dict(ReportsPart(daemon).list_authored_methods("web:ann"))
    store.close()


async def test_chat_is_refused_once(tmp_path: Path) -> None:
    """The audit log has the person; another code is unknown."""
    async with handlers_in(tmp_path) as (store, handlers):
        await store.transact(
            pairing.request_pairing, Address("telegram", "b", "7"), "Eve", "AAAA", NOON
        )
        await handlers[PAIR_REFUSE]({"code": "aaaa"})
        actor = "SELECT actor FROM audit WHERE act = 'pairing refused'"
        assert await store.read(lambda db: db.execute(actor).get) == "web:ann"
        with pytest.raises(RpcError, match="no chat has the code"):
            await handlers[PAIR_REFUSE]({"code": "aaaa"})
        refused: JsonValue = {"channel": "telegram", "chatId": "7"}
        await handlers[PAIR_RESTORE](refused)
        with pytest.raises(RpcError, match="was not refused or revoked"):
            await handlers[PAIR_RESTORE](refused)


async def test_extended_budget_resumes_the_agent(tmp_path: Path) -> None:
    """Or says what it still lacks."""
    async with handlers_in(tmp_path) as (store, handlers):
        used = Usage(prompt=10)
        await store.transact(usage.record_usage, "work", None, "groq/m", used, 0.25, NOON)
        await store.transact(pauses.begin_pause, "work", "budget", "used up", "budgets", NOON)
        extend = handlers[BUDGET_EXTEND]
        first = ExtendedBudget.model_validate(await extend({"agentId": "work", "usd": "0.01"}))
        assert "$0.0000 of $0.2100 are left" in first.paused
        second = await extend({"agentId": "work", "usd": 0.1})
        assert second == ExtendedBudget(text="work may spend $0.1 more until midnight")
        assert await store.read(pauses.find_pause, "work") is None
        with pytest.raises(RpcError, match="no limit in dollars"):
            await extend({"agentId": "home", "usd": 0.1})


@pytest.mark.parametrize("usd", [0, -1, 1001, "nan", "inf", "much", None])
async def test_amount_that_is_none_changes_nothing(tmp_path: Path, usd: object) -> None:
    """It comes from a field that anyone may fill in."""
    async with handlers_in(tmp_path) as (store, handlers):
        with pytest.raises(RpcError, match="an amount in US dollars"):
            await handlers[BUDGET_EXTEND]({"agentId": "work", "usd": usd})  # type: ignore[dict-item]
        assert await store.read(lambda db: db.execute("SELECT count(*) FROM audit").get) == 0
