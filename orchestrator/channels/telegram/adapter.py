"""Telegram: long polling in, messages and edits out.

An update is confirmed to Telegram by the next poll's offset alone, and that offset moves only
after the journal has stored the update. Every failure waits and is tried again.
"""

import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

import anyio
import structlog
from pydantic import JsonValue

from orchestrator.channel_api import ChannelStatus, Intake, OutboundPart, SendError, SendOutcome
from orchestrator.channels.telegram import formatting, updates
from orchestrator.channels.telegram.bot_api import (
    POLL_WAIT,
    BotApi,
    Result,
    Sent,
    User,
    WebhookInfo,
)
from orchestrator.channels.telegram.bot_errors import BotApiError
from orchestrator.channels.telegram.pacing import RateLimiter
from orchestrator.channels.telegram.updates import Bot
from orchestrator.failpoints import failpoint
from thinker.protocol.messages import JsonObject

log = structlog.get_logger()

MAX_BACKOFF = 60.0  # seconds
CONFLICT_BACKOFF = 10.0  # seconds; the poll of a stopped daemon lingers for about 30
CONFLICT_PATIENCE = 180.0  # seconds of conflict after which it is not a restart any more


class Telegram:
    """The adapter of one bot; keep ``api`` open for as long as it is used.

    Args:
        api: the bot's calls.
        clock: seconds since the epoch.
        sleep: waits so many seconds.
        chance: a number in [0, 1), for jitter.
    """

    name = updates.CHANNEL
    edits = True
    from_journal = False

    def __init__(
        self,
        api: BotApi,
        *,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.status = ChannelStatus(self.name)
        self._api = api
        self._clock = clock
        self._sleep = sleep
        self._chance = chance
        self._bot: Bot | None = None
        self._offset: int | None = None
        self._failures = 0
        self._conflict_since: float | None = None
        self._pacer = RateLimiter(clock, sleep)

    @property
    def bot_id(self) -> str:
        """The bot's number, known from its token before it ever answered."""
        return self._api.bot_id

    async def run(self, intake: Intake) -> None:
        """Listen until cancelled; survives every failure of Telegram and of the journal."""
        try:
            while True:
                try:
                    await self._round(intake)
                except Exception as error:  # noqa: BLE001 - a deaf channel must not end the others
                    await self._sleep(self._failed(error))
        finally:
            self.status.state = "stopped"

    async def _round(self, intake: Intake) -> None:
        """One poll, stored."""
        bot = self._bot = self._bot or await self._introduce()
        if self._offset is None:
            self._offset = await intake.offset(self.name, self.bot_id)
        began, first = self._clock(), self.status.state == "starting"
        # The first poll comes back at once, so that a quiet bot is known to be ready.
        wait = 0 if first else POLL_WAIT
        failpoint("poll:before")
        received = await self._api.poll(self._offset, updates.KINDS, wait)
        failpoint("poll:after")
        if received:
            await self._store(received, bot, intake)
        self._succeeded()
        if not received and not first and self._clock() - began < 1:
            await self._sleep(1)  # a server that does not hold polls open

    async def _introduce(self) -> Bot:
        """Learn the bot's name and make sure that updates can be polled."""
        me = await self._api.call("getMe", {}, User)
        try:
            webhook = await self._api.call("getWebhookInfo", {}, WebhookInfo)
            if webhook.url:
                # Never with drop_pending_updates: those are people's messages.
                await self._api.call("deleteWebhook", {}, object)
        except BotApiError as error:
            if not error.unsupported:
                raise
        return Bot(self.bot_id, me.username)

    async def _store(self, received: list[JsonValue], bot: Bot, intake: Intake) -> None:
        """Hand updates to the journal and move the offset behind the last of them."""
        numbered = [
            (number, update)
            for update in received
            if (number := updates.update_number(update)) is not None
        ]
        if len(numbered) < len(received):
            log.warning("telegram_update_without_number", count=len(received) - len(numbered))
        if not numbered:
            raise SendError(
                "telegram getUpdates: updates without update_id; check TELEGRAM_API_URL",
                SendOutcome.UNKNOWN,
            )
        # Not compared with the old offset: after a quiet week Telegram's numbers start anywhere.
        offset = max(number for number, _ in numbered) + 1
        messages = [updates.inbound(update, number, bot) for number, update in numbered]
        await intake.accept(messages, offset)
        self._offset = offset

    def _succeeded(self) -> None:
        self._failures, self._conflict_since = 0, None
        self.status.state, self.status.detail = "ok", ""
        self.status.last_ok = self._clock()

    def _failed(self, error: Exception) -> float:
        """Record a failure and return how many seconds to wait."""
        self._failures += 1
        delay = 2.0 ** min(self._failures, 6)
        state, detail = "degraded", str(error) or type(error).__name__
        if not isinstance(error, SendError):
            detail = f"cannot store updates: {detail}"
        elif isinstance(error, BotApiError) and error.conflict:
            state, detail = self._conflicted()
            delay *= CONFLICT_BACKOFF / 2
        elif isinstance(error, BotApiError) and error.token_refused:
            detail = "token refused; set TELEGRAM_BOT_TOKEN"
            delay = MAX_BACKOFF
        if (state, detail) != (self.status.state, self.status.detail):
            log.warning("telegram_poll_failed", state=state, detail=detail)
        self.status.state, self.status.detail = state, detail
        if isinstance(error, SendError) and error.retry_after is not None:
            return error.retry_after
        return min(MAX_BACKOFF, delay * (1 + self._chance() / 2))

    def _conflicted(self) -> tuple[str, str]:
        """State and detail while another poll answers for this bot; never a reason to end."""
        now = self._clock()
        if self._conflict_since is None:
            self._conflict_since = now
        self._bot = None  # the other one may be a webhook: look again, and remove it
        lasting = now - self._conflict_since >= CONFLICT_PATIENCE
        return (
            "degraded" if lasting else self.status.state,
            "another program polls this bot; stop it, or use a bot of its own for this host",
        )

    def split(self, text: str) -> tuple[str, ...]:
        """Cut a reply into parts that Telegram accepts, in order."""
        return formatting.split(text)

    async def send(self, part: OutboundPart) -> str:
        """Send one part and return its message id.

        Raises:
            SendError: with what is known about the message.
        """
        params: JsonObject = {}
        if part.thread_id:
            params["message_thread_id"] = _number(part.thread_id)
        if part.reply_to and part.chat_id.startswith("-"):  # groups have negative numbers
            params["reply_parameters"] = {
                "message_id": _number(part.reply_to),
                "allow_sending_without_reply": True,
            }
        return str((await self._write("sendMessage", part, params, Sent)).message_id)

    async def edit(self, part: OutboundPart, message_id: str) -> None:
        """Change a sent message; "not modified" counts as success.

        Raises:
            SendError: with what is known about the message.
        """
        try:
            await self._write("editMessageText", part, {"message_id": _number(message_id)}, object)
        except BotApiError as error:
            if not error.unchanged:
                raise

    async def download(self, handle: str, limit: int) -> bytes:
        """The file of this id.

        Raises:
            SendError: it cannot be had, now or at all.
        """
        return await self._api.download(handle, limit)

    def view(self, chat_id: str, text: str) -> None:
        """Nothing: replies are streamed by editing a message."""

    def delivered_when_stored(self, chat_id: str) -> bool:
        """It has to be sent."""
        del chat_id
        return False

    def replied(self, chat_id: str) -> None:
        """Nothing: people read what is sent."""

    async def typing(self, chat_id: str, thread_id: str | None) -> None:
        """Show that an answer is being made, for about five seconds; failures are ignored."""
        params: JsonObject = {"chat_id": _number(chat_id), "action": "typing"}
        if thread_id:
            params["message_thread_id"] = _number(thread_id)
        with suppress(SendError):
            await self._api.call("sendChatAction", params, object)

    async def _write(
        self, method: str, part: OutboundPart, params: JsonObject, expected: type[Result]
    ) -> Result:
        """Send or edit with formatting, or without it where Telegram refuses the formatting."""
        await self._pacer.wait(part.chat_id, group=part.chat_id.startswith("-"))
        body: JsonObject = {
            "chat_id": _number(part.chat_id),
            "link_preview_options": {"is_disabled": True},
            **params,
        }
        rendered = formatting.to_html(part.text) if part.markdown else ""
        if rendered.strip():
            try:
                formatted: JsonObject = {**body, "text": rendered, "parse_mode": "HTML"}
                return await self._api.call(method, formatted, expected)
            except BotApiError as error:
                if not error.bad_format:
                    raise
        plain: JsonObject = {**body, "text": formatting.clean(part.text)}
        return await self._api.call(method, plain, expected)


def _number(name: str) -> int | str:
    """An id as Telegram's number; a name such as ``@channel`` stays."""
    return int(name) if name.removeprefix("-").isdecimal() else name
