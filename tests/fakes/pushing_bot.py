"""The fake Bot API that also pushes updates, as Telegram does once a webhook is set.

One connection at a time takes the updates in their order, and each is repeated until it is
answered 2xx.
"""

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Self

import anyio
import httpx
from fakes.bot_api import FakeBotApi
from fakes.time_limit import time_limit

from orchestrator.extensions.selftest.crash.bot_world import RefusedError
from orchestrator.testing.loopback import ForeignJson

SECRET = "X-Telegram-Bot-Api-Secret-Token"
AGAIN = 0.05  # seconds until an update is pushed again
NO_ANSWER = 0  # the status of a delivery that none came to


class PushingBotApi(FakeBotApi):
    """``leads_to`` is what the proxy at the webhook's address leads to; nothing if it is empty.

    ``deliveries`` are the number and status of each. The server is one of your own, which takes
    every address.
    """

    def __init__(self, token: str, username: str = "test_bot") -> None:
        super().__init__(token, username)
        self.transport: httpx.AsyncBaseTransport | None = None  # instead of the network
        self.leads_to = ""
        self.holds_back = False  # Telegram tries again later and later
        self.secret = ""
        self.deliveries: list[tuple[int, int]] = []
        self._errors: ForeignJson = {}
        self._methods["setWebhook"] = self._set_webhook

    @asynccontextmanager
    async def __asynccontextmanager__(self) -> AsyncGenerator[Self]:
        async with (
            super().__asynccontextmanager__(),
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(self._push)
            yield self
            tasks.cancel_scope.cancel()

    async def delivered(self, number: int, status: int, times: int = 1) -> None:
        """Wait until deliveries of an update were answered so."""
        with time_limit():
            while self.deliveries.count((number, status)) < times:
                await self.wait_for_change()

    async def _set_webhook(self, params: ForeignJson) -> object:
        secret = params.get("secret_token", "")
        if not re.fullmatch(r"[A-Za-z0-9_-]{0,256}", secret):
            raise RefusedError(400, "Bad Request: secret token contains unallowed characters")
        if not 1 <= params.get("max_connections", 40) <= 100:
            raise RefusedError(400, "Bad Request: max_connections is out of range")
        if params.get("drop_pending_updates"):
            self._pending.clear()
        self._kinds = params.get("allowed_updates") or self._kinds
        self.webhook, self.secret, self._errors = params.get("url", ""), secret, {}
        self.changes.wake()
        return True

    async def _get_webhook_info(self, params: ForeignJson) -> object:
        known = await super()._get_webhook_info(params)
        assert isinstance(known, dict)
        return {**known, "has_custom_certificate": False, "max_connections": 1, **self._errors}

    async def _delete_webhook(self, params: ForeignJson) -> object:
        self._errors = {}
        return await super()._delete_webhook(params)

    async def _push(self) -> None:
        while True:
            wanted = [update for update in self._pending if self._is_wanted(update)]
            if self.holds_back or not (self.webhook and wanted):
                await self.wait_for_change()
                continue
            status, problem = await self._deliver(wanted[0])
            number = wanted[0]["update_id"]
            self.deliveries.append((number, status))
            if not problem:
                self._pending = [item for item in self._pending if item["update_id"] != number]
            else:
                date = 1_800_000_000 + len(self.deliveries)  # a clock that each delivery moves
                self._errors = {"last_error_date": date, "last_error_message": problem}
            self.changes.wake()
            if problem:
                with anyio.move_on_after(AGAIN):
                    await self.wait_for_change()

    async def _deliver(self, update: ForeignJson) -> tuple[int, str]:
        """Return the status, and Telegram's words for a failure."""
        headers = {SECRET: self.secret}
        try:
            if not self.leads_to:
                raise httpx.ConnectError("the proxy is away")
            async with httpx.AsyncClient(transport=self.transport) as client:
                answer = await client.post(self.leads_to, json=update, headers=headers)
        except httpx.HTTPError:
            return NO_ANSWER, "Connection refused"
        if answer.is_success:
            return answer.status_code, ""
        words = f"Wrong response from the webhook: {answer.status_code} {answer.reason_phrase}"
        return answer.status_code, words
