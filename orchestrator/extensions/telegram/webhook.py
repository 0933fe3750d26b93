"""Receive by webhook: Telegram pushes each update to an address, through a proxy.

Telegram repeats an update until it is answered 2xx, which happens only after the journal has stored
it. One connection at a time keeps the updates in their order.

Where: does Telegram push updates?
"""

import anyio
import structlog
from anyio import to_thread
from pydantic import JsonValue

from orchestrator.channel_api import SendOutcome
from orchestrator.extensions.telegram import updates
from orchestrator.extensions.telegram.bot_api import BotApi, WebhookInfo, decode_json
from orchestrator.extensions.telegram.bot_errors import BotApiError
from orchestrator.extensions.telegram.reception import (
    Reception,
    UpdateStore,
    describe_store_failure,
)
from orchestrator.failpoints import failpoint
from thinker.protocol.messages import JsonObject

LOOK = 60.0  # seconds between checks of Telegram's report on deliveries
STORE_SECONDS = 30.0  # for storing one update; Telegram waits longer
SHORT = 16 * 1024  # bytes of an update; a longer one is read in a thread
MAX_WORDS = 200  # characters of Telegram's own words
NOT_READY = "the daemon is starting or stopping; try again in a moment"
log = structlog.get_logger()


class DeliveryReport(WebhookInfo):
    """Telegram's report on a webhook and its deliveries."""

    pending_update_count: int = 0
    last_error_date: int = 0  # seconds since the epoch, by Telegram's clock
    last_error_message: str = ""


class Webhook:
    """A way to receive; ``pause`` is the seconds before the next round."""

    pause = LOOK

    def __init__(self, url: str, api: BotApi, store: UpdateStore, reception: Reception) -> None:
        self._url = url
        self._api = api
        self._store = store
        self._reception = reception
        self._seen: DeliveryReport | None = None  # at the last check
        self._found = ""  # the problem found at that check
        self._unstored = ""  # why the last update could not be stored
        self._came = False  # whether an update was stored since
        self._order = anyio.Lock()

    async def run_round(self) -> str:
        """Set the webhook, or check its deliveries; return the problem."""
        before = self._seen
        if before is None:
            await self._set_webhook()
        else:
            await self._store.store_updates([])
            now = await self._api.call_method("getWebhookInfo", {}, DeliveryReport)
            self._found = await self._judge_deliveries(before, now)
        return self._unstored or self._found

    async def store_pushed_update(self, raw: bytes) -> str:
        """Store a pushed update; return the reason of a failure, or an empty string.

        An update that can never be stored counts as stored; otherwise Telegram would send nothing
        newer.
        """
        if not self._store.ready:
            return NOT_READY
        try:
            with anyio.fail_after(STORE_SECONDS):
                async with self._order:
                    await self._store_update(raw)
        except Exception as error:  # noqa: BLE001 - Telegram repeats it, whatever failed
            self._unstored = describe_store_failure(error)
            self._reception.report_problem(self._unstored)
            return self._unstored
        self._came = True
        if self._unstored:
            self._unstored = ""
            self._reception.report_problem(self._found)
        return ""

    async def _store_update(self, raw: bytes) -> None:
        try:
            update: JsonValue = (
                decode_json(raw)
                if len(raw) <= SHORT
                else await to_thread.run_sync(decode_json, raw)
            )
        except (ValueError, RecursionError) as error:
            log.warning("telegram_update_unreadable", problem=str(error)[:MAX_WORDS])
            return
        if updates.parse_update_number(update) is None:
            log.warning("telegram_update_without_number", count=1)
            return
        failpoint("push:before")
        await self._store.store_updates([update])
        failpoint("push:after")

    async def _set_webhook(self) -> None:
        # Never with drop_pending_updates, which would lose messages.
        params: JsonObject = {
            "url": self._url,
            "secret_token": self._api.push_secret,
            "allowed_updates": list(updates.KINDS),
            "max_connections": 1,
        }
        try:
            await self._api.call_method("setWebhook", params, object)
        except BotApiError as error:
            if error.outcome is not SendOutcome.PERMANENT:
                raise
            words = f"{error}; correct channels.telegram.webhook.url in agents.json"
            raise BotApiError(words, error.outcome, error.code) from None
        # Telegram may write the address in another way: later looks compare with this one.
        self._seen = await self._api.call_method("getWebhookInfo", {}, DeliveryReport)
        log.info("telegram_webhook_set", url=self._url)

    async def _judge_deliveries(self, before: DeliveryReport, now: DeliveryReport) -> str:
        """Return the problem that arose between two checks, or an empty string."""
        came, self._came = self._came, False
        if now.url != before.url:
            await self._set_webhook()
            where = f"set this bot's webhook to {now.url}" if now.url else "removed this webhook"
            return (
                f"another program {where}; it is set again: stop that program, or use another bot"
            )
        self._seen = now
        words = " ".join(now.last_error_message.split())[:MAX_WORDS]
        failed = words and now.last_error_date > before.last_error_date
        stuck = 0 < before.pending_update_count <= now.pending_update_count and not came
        if not (failed or stuck):
            return ""
        why = words or f"{now.pending_update_count} updates wait"
        return f"Telegram cannot reach {self._url}: {why}; check the proxy and its certificate"
