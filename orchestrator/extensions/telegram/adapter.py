"""Telegram: messages and edits out; in by long polling or, if agents.json says so, by webhook.

After a failure the adapter waits and tries again.
"""

import random
import time
from collections.abc import Awaitable, Callable, Mapping

import anyio
from anyio.abc import TaskGroup
from pydantic import JsonValue

from orchestrator.channel_api import (
    ChannelStatus,
    Intake,
    OutboundFile,
    OutboundPart,
    ReplyPart,
    SendError,
    SendOutcome,
)
from orchestrator.channels import formatting
from orchestrator.channels.pacing import Rate, RateLimiter
from orchestrator.extensions.telegram import command_menu
from orchestrator.extensions.telegram.bot_api import BotApi, PostedMessage, Result
from orchestrator.extensions.telegram.bot_errors import BotApiError
from orchestrator.extensions.telegram.reception import GroupMoves, Polling, Reception, UpdateStore
from orchestrator.extensions.telegram.webhook import NOT_READY, Webhook
from thinker.protocol.messages import JsonObject

MAX_PHOTO = 10_000_000  # bytes (Bot API, sendPhoto)
PHOTOS = ("image/jpeg", "image/png", "image/webp")
AUDIOS = ("audio/mpeg", "audio/mp4")  # Bot API, sendAudio
VOICES = (*AUDIOS, "audio/ogg")  # Bot API, sendVoice
# Approximate limits of Telegram's FAQ for bots; it tolerates short bursts.
CHAT_RATE = Rate(1.0, 4)
GROUP_RATE = Rate(20 / 60, 4)
BOT_RATE = Rate(30.0, 30)


class Telegram:
    """The adapter of one bot; ``api`` must stay open while it is used.

    ``find_api`` returns the current one, None while the channel is off. ``menus`` are the commands
    that Telegram offers, with descriptions, keyed by scope.
    ``webhook_url`` returns the address that Telegram is to push to, None for polling;
    ``configured`` when it may have changed. ``clock`` returns seconds since the epoch,
    ``monotonic`` seconds of a clock that cannot be set (default: the same), ``chance`` a number in
    [0, 1) for jitter.
    """

    can_edit = True
    can_show_files = True
    deduplicates = False
    is_read_from_journal = False

    def __init__(
        self,
        api: BotApi,
        *,
        menus: Mapping[str, Mapping[str, str]] | None = None,
        webhook_url: Callable[[], str | None] = lambda: None,
        configured: Callable[[], Awaitable[None]] = anyio.sleep_forever,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] | None = None,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.name = api.channel
        self.status = ChannelStatus(self.name)
        self.find_api: Callable[[], BotApi | None] = lambda: api
        self._api = api
        self._is_off = self._receives = False
        self._published: BotApi | None = None  # the bot that has its menus
        self._menus = menus or {}
        self._clock = clock
        self._sleep = sleep
        self._webhook_url = webhook_url
        self._configured = configured
        self._webhook: Webhook | None = None  # while updates are received by it
        self._reception = Reception(self.status, clock, chance)
        self._monotonic = monotonic or clock
        self.limiter = RateLimiter(BOT_RATE, self._monotonic, sleep)
        self._moves = GroupMoves()

    @property
    def bot_id(self) -> str:
        return self._api.bot_id

    async def run(self, intake: Intake) -> None:
        """Receive messages until cancelled, whatever fails at Telegram or in the journal."""
        self._receives = True
        try:
            while True:
                api = self.find_api()
                self._is_off = api is None
                if api is None:
                    self._published = None  # it may have been cut off
                    self.status.state, self.status.detail, self.status.last_ok = "off", "", None
                    await self._configured()
                    continue
                if api is not self._api or self.status.state == "off":
                    self._api, self.status.state = api, "starting"
                store = UpdateStore(api, self._moves, intake)
                while self.find_api() is api:
                    await self._receive_updates(store, self._webhook_url())
        finally:
            self._webhook, self._receives = None, False
            self.status.state = "stopped"

    async def _receive_updates(self, store: UpdateStore, url: str | None) -> None:
        """Receive one way, until agents.json names the other, or another bot."""
        api = self._api
        way: Polling | Webhook = Polling(self._api, store, self._monotonic)
        if url is not None:
            way = self._webhook = Webhook(url, self._api, store, self._reception)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._repeat_rounds, way, store, tasks)
            while self._webhook_url() == url and self.find_api() is api:
                await self._configured()
            tasks.cancel_scope.cancel()
        self._webhook = None

    async def _repeat_rounds(
        self, way: Polling | Webhook, store: UpdateStore, tasks: TaskGroup
    ) -> None:
        while True:
            try:
                if not store.ready:
                    await store.open(self.status)
                self._reception.record_answer(await way.run_round())
            except Exception as error:  # noqa: BLE001 - one failing channel must not end the others
                await self._sleep(self._reception.record_failure(error))
                continue
            if self._published is not self._api:  # alongside the next round: no message waits
                self._published = self._api
                tasks.start_soon(command_menu.publish_commands, self._api, self._menus)
            if way.pause:
                await self._sleep(way.pause)

    @property
    def push_secret(self) -> str | None:
        off = self._is_off or self._webhook_url() is None
        return None if off else self._api.push_secret

    async def store_pushed_update(self, raw: bytes) -> str:
        return NOT_READY if self._webhook is None else await self._webhook.store_pushed_update(raw)

    def split(self, text: str, mark: str = "") -> tuple[ReplyPart, ...]:
        end = 2 * formatting.LIMIT if mark else None  # only the first part has a mark, and is shown
        return formatting.split(text[:end], mark)

    async def wait_for_rate(self, chat_id: str) -> None:
        await self.limiter.wait(chat_id, GROUP_RATE if chat_id.startswith("-") else CHAT_RATE)

    async def send(self, part: OutboundPart) -> str:
        params: JsonObject = {}
        if part.thread_id:
            params["message_thread_id"] = _parse_id(part.thread_id)
        if part.choices:
            keys: list[JsonValue] = [
                {"text": choice.label, "callback_data": choice.data} for choice in part.choices
            ]
            others: list[JsonValue] = [[key] for key in keys[2:]]  # whose labels may be long
            params["reply_markup"] = {"inline_keyboard": [keys[:2], *others]}
        origin, _, number = (part.reply_to or "").rpartition(":")
        here = self._moves.moved.get(part.chat_id, part.chat_id)
        # Groups have negative numbers, and a supergroup numbers its messages anew.
        if number and here.startswith("-") and here == (origin or part.chat_id):
            params["reply_parameters"] = {
                "message_id": _parse_id(number),
                "allow_sending_without_reply": True,
            }
        posted = await self._write_message("sendMessage", part, params, PostedMessage)
        return str(posted.message_id)

    async def edit(self, part: OutboundPart, message_id: str) -> None:
        try:
            await self._write_message(
                "editMessageText", part, {"message_id": _parse_id(message_id)}, object
            )
        except BotApiError as error:
            if not error.is_unchanged:
                raise

    async def remove(self, chat_id: str, message_id: str) -> None:
        message: JsonObject = {
            "chat_id": self._resolve_chat_id(chat_id),
            "message_id": _parse_id(message_id),
        }
        await self._api.call_method("deleteMessage", message, object)

    async def download(self, handle: str, limit: int) -> bytes:
        return await self._api.download_file(handle, limit)

    def show_unfinished_answer(self, chat_id: str, text: str) -> None:
        """Do nothing: answers are streamed by editing a message."""

    def is_delivered_when_stored(self, chat_id: str) -> bool:
        """Return False: a reply must be sent."""
        del chat_id
        return False

    def wake_waiting_clients(self, chat_id: str) -> None:
        """Do nothing: replies are sent."""

    async def show_typing(self, chat_id: str, thread_id: str | None) -> None:
        params: JsonObject = {"chat_id": self._resolve_chat_id(chat_id), "action": "typing"}
        if thread_id:
            params["message_thread_id"] = _parse_id(thread_id)
        await self._api.call_method("sendChatAction", params, object)

    async def _write_message(
        self, method: str, part: OutboundPart, params: JsonObject, expected: type[Result]
    ) -> Result:
        """Send or edit a message, in the supergroup that replaced its group."""
        if not self._receives:  # nor does it notice another token
            api = self.find_api()
            self._api, self._is_off = api or self._api, api is None
        if self._is_off:
            raise SendError(f"channel {self.name} is off", SendOutcome.NOT_SENT)
        try:
            return await self._write_once(method, part, params, expected)
        except BotApiError as error:
            if error.new_chat_id is None or error.new_chat_id == self._resolve_chat_id(
                part.chat_id
            ):
                raise
            self._moves.add_move(part.chat_id, str(error.new_chat_id))
        unrelated = {name: params[name] for name in params if name != "reply_parameters"}
        return await self._write_once(method, part, unrelated, expected)

    def _resolve_chat_id(self, chat_id: str) -> int | str:
        """Return Telegram's id of a chat that the journal knows by its first id."""
        return _parse_id(self._moves.moved.get(chat_id, chat_id))

    async def _write_once(
        self, method: str, part: OutboundPart, params: JsonObject, expected: type[Result]
    ) -> Result:
        """Send or edit a message, without formatting if Telegram refuses the formatting."""
        body: JsonObject = {"chat_id": self._resolve_chat_id(part.chat_id), **params}
        words = "caption"
        if part.file is None:
            words, body["link_preview_options"] = "text", {"is_disabled": True}
        rendered = part.rendered or (formatting.to_html(part.text) if part.markdown else "")
        if rendered.strip():
            try:
                formatted: JsonObject = {**body, words: rendered, "parse_mode": "HTML"}
                return await self._call_method(method, formatted, part.file, expected)
            except BotApiError as error:
                if not error.can_retry_unformatted:
                    raise
        plain: JsonObject = {**body, words: formatting.render_plain_text(part.text)}
        return await self._call_method(method, plain, part.file, expected)

    async def _call_method(
        self, method: str, body: JsonObject, file: OutboundFile | None, expected: type[Result]
    ) -> Result:
        """Call a method, or send a file in the form that Telegram accepts."""
        if file is None:
            return await self._api.call_method(method, body, expected)
        method, field = _choose_method(file)
        if method:
            try:
                return await self._api.upload_file(method, body, field, file, expected)
            except BotApiError as error:
                if not error.can_retry_as_document:
                    raise
        return await self._api.upload_file("sendDocument", body, "document", file, expected)


def _choose_method(file: OutboundFile) -> tuple[str, str]:
    """Choose the method and form field for a picture or sound."""
    if file.media_type in PHOTOS and len(file.data) <= MAX_PHOTO:
        return "sendPhoto", "photo"
    if file.voice and file.media_type in VOICES:
        return "sendVoice", "voice"
    return ("sendAudio", "audio") if file.media_type in AUDIOS else ("", "")


def _parse_id(name: str) -> int | str:
    """Parse an id as a number; a name such as ``@channel`` stays a string."""
    return int(name) if name.removeprefix("-").isdecimal() else name
