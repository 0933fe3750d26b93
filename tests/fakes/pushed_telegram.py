"""The Telegram adapter and its endpoint in one process, and the fake Telegram that pushes to it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import cast

import anyio
import httpx
from fakes.bot_api import Fault
from fakes.pushing_bot import SECRET, PushingBotApi
from fakes.telegram_inbox import HeldClock, Inbox
from starlette.routing import Route

from orchestrator.control.operations import DaemonOperations
from orchestrator.extensions.telegram.adapter import Telegram
from orchestrator.extensions.telegram.bot_api import BotApi
from orchestrator.extensions.telegram.telegram_endpoint import TelegramEndpoint
from orchestrator.wakeup import Wakeup
from orchestrator.web.app import build_app
from orchestrator.web.refusal import Refusal

TOKEN = "123456:ABC-DEF"
URL = "https://bots.example.org/telegram"
ENDPOINT = "http://127.0.0.1/telegram"


class Wanted:
    """What agents.json says of the webhook, which a test edits."""

    def __init__(self, url: str | None) -> None:
        self.url = url
        self._edits = Wakeup()

    def edit(self, url: str | None) -> None:
        """Let another address count."""
        self.url = url
        self._edits.wake()

    async def changed(self) -> None:
        """Wait for an edit."""
        await self._edits.changed.wait()


@dataclass
class PushedTelegram:
    """A listening adapter, and the ends that a test pulls at."""

    server: PushingBotApi
    telegram: Telegram
    inbox: Inbox
    clock: HeldClock
    wanted: Wanted
    client: httpx.AsyncClient
    stop: Callable[[], None]

    async def push(self, body: bytes, secret: str | None = None) -> httpx.Response:
        """Push a body, with the right secret unless another one is named; none if it is empty."""
        shown = self.telegram.push_secret if secret is None else secret
        headers = {SECRET: shown} if shown else {}
        return await self.client.post(ENDPOINT, content=body, headers=headers)


@asynccontextmanager
async def pushed_telegram(
    inbox: Inbox | None = None,
    url: str | None = URL,
    broken: tuple[str, *tuple[Fault, ...]] = ("",),
) -> AsyncIterator[PushedTelegram]:
    """An adapter that listens, by webhook unless ``url`` is None; a method may be ``broken``."""
    inbox, clock, wanted = inbox or Inbox(), HeldClock(), Wanted(url)
    async with PushingBotApi(TOKEN) as server, BotApi(TOKEN, server.url) as api:
        server.break_next(*broken)
        telegram = Telegram(
            api,
            webhook_url=lambda: wanted.url,
            configured=wanted.changed,
            clock=clock,
            sleep=clock.sleep,
            chance=lambda: 0.0,
        )
        server.transport, server.leads_to = routed(telegram), ENDPOINT
        async with (
            httpx.AsyncClient(transport=server.transport) as client,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(telegram.run, inbox)
            stop = tasks.cancel_scope.cancel
            yield PushedTelegram(server, telegram, inbox, clock, wanted, client, stop)
            stop()


def routed(telegram: Telegram) -> httpx.ASGITransport:
    """The endpoint, behind no guard."""
    daemon = cast("DaemonOperations", SimpleNamespace(adapters={"telegram": telegram}))
    route = Route("/telegram", TelegramEndpoint(daemon).receive_update, methods=["POST"])
    return httpx.ASGITransport(app=build_app([route], Refusal))
