"""Receive by long polling: Telegram holds a request open until there is something.

Telegram takes an update as confirmed when the next poll has a higher offset. The offset rises only
after the journal has stored the update.
"""

from collections.abc import Callable

from orchestrator.channels.telegram import updates
from orchestrator.channels.telegram.bot_api import POLL_WAIT, BotApi, WebhookInfo
from orchestrator.channels.telegram.bot_errors import BotApiError
from orchestrator.channels.telegram.update_store import UpdateStore
from orchestrator.failpoints import failpoint

QUIET = 1.0  # seconds between polls that a server does not hold open


class Polling:
    """A way to receive; ``pause`` is how long to wait before the next round, in seconds."""

    def __init__(self, api: BotApi, store: UpdateStore, clock: Callable[[], float]) -> None:
        self._api = api
        self._store = store
        self._clock = clock
        self._free = False  # of webhooks, which keep updates from polls
        self._first = True
        self.pause = 0.0

    async def round(self) -> str:
        """Ask once for updates and store them; nothing is wrong then."""
        if not self._free:
            await self._remove_webhook()
            self._free = True
        began, first = self._clock(), self._first
        # The first poll returns at once, so that a quiet bot is soon known to be ready.
        wait = 0 if first else POLL_WAIT
        failpoint("poll:before")
        try:
            received = await self._api.poll(self._store.offset, updates.KINDS, wait)
        except BotApiError as error:
            self._free = not error.conflict  # it may be a webhook: look again
            raise
        failpoint("poll:after")
        await self._store.store(received)
        self._first = False
        self.pause = QUIET if not (received or first) and self._clock() - began < 1 else 0.0
        return ""

    async def _remove_webhook(self) -> None:
        try:
            webhook = await self._api.call("getWebhookInfo", {}, WebhookInfo)
            if webhook.url:
                # Never with drop_pending_updates, which would lose messages.
                await self._api.call("deleteWebhook", {}, object)
        except BotApiError as error:
            if not error.unsupported:
                raise
