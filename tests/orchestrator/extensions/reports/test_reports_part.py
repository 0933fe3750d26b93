"""Decisions of the page and of commands: refused chats."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fakes.journal import store_in
from pydantic import JsonValue

from orchestrator.extensions.reports.reports_part import PAIR_REFUSE, PAIR_RESTORE, ReportsPart
from orchestrator.journal.access import pairing
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns.outbox import Address
from thinker.protocol.peer import RequestHandler, RpcError

NOON = 1_770_000_000_000


@asynccontextmanager
async def handlers_in(folder: Path) -> AsyncIterator[tuple[Store, dict[str, RequestHandler]]]:
    """The requests of Ann on the page."""
    store = store_in(folder)
    daemon: Any = SimpleNamespace(store=store, machine=SimpleNamespace(clock=lambda: NOON))
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
