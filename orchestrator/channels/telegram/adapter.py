"""Telegram: long polling in, messages and edits out.

Telegram takes an update as confirmed when the next poll has a higher offset. The offset rises only
after the journal has stored the update. After a failure the adapter waits and polls again.
"""

import random
import time
from collections.abc import Awaitable, Callable, Mapping
from operator import itemgetter

import anyio
import structlog
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
from orchestrator.channels.telegram import command_menu, updates
from orchestrator.channels.telegram.bot_api import (
    POLL_WAIT,
    BotApi,
    Result,
    Sent,
    User,
    WebhookInfo,
)
from orchestrator.channels.telegram.bot_errors import BotApiError
from orchestrator.channels.telegram.updates import Bot
from orchestrator.failpoints import failpoint
from thinker.protocol.messages import JsonObject

log = structlog.get_logger()

ANSWER_SECONDS = 5.0  # for answering presses, which takes no longer than a poll may wait
MAX_ANSWER = 200  # characters of the answer to a press (Bot API, answerCallbackQuery)
MAX_PHOTO = 10_000_000  # bytes (Bot API, sendPhoto)
PHOTOS = ("image/jpeg", "image/png", "image/webp")
AUDIOS = ("audio/mpeg", "audio/mp4")  # Bot API, sendAudio
VOICES = (*AUDIOS, "audio/ogg")  # Bot API, sendVoice
PRIVACY_MODE = (
    "Telegram's privacy mode keeps them from it, except in groups where it is an administrator;"
    " switch that off with /setprivacy at @BotFather, add the bot to its groups again and restart"
    " the daemon"
)
# Approximate limits of Telegram's FAQ for bots; it tolerates short bursts.
CHAT_RATE = Rate(1.0, 4)
GROUP_RATE = Rate(20 / 60, 4)
BOT_RATE = Rate(30.0, 30)
MAX_BACKOFF = 60.0  # seconds
CONFLICT_BACKOFF = 10.0  # seconds; Telegram holds the poll of a stopped daemon for about 30
CONFLICT_PATIENCE = 180.0  # seconds; a longer conflict is not caused by a restart


class Telegram:
    """The adapter of one bot; ``api`` must stay open while it is used.

    ``menus`` are the commands that Telegram offers, with what each does, by scope.
    ``clock`` returns seconds since the epoch, ``chance`` a number in [0, 1) for jitter.
    """

    name = updates.CHANNEL
    edits = True
    takes_files = True
    keyed = False
    from_journal = False

    def __init__(
        self,
        api: BotApi,
        *,
        menus: Mapping[str, Mapping[str, str]] | None = None,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.status = ChannelStatus(self.name)
        self._api = api
        self._menus = menus or {}
        self._clock = clock
        self._sleep = sleep
        self._chance = chance
        self._bot: Bot | None = None
        self._offset: int | None = None
        self._failures = 0
        self._conflict_since: float | None = None
        self._limiter = RateLimiter(BOT_RATE, clock, sleep)
        self._moved: dict[str, str] = {}  # new ids of groups that became supergroups, by the old
        self._unrecorded: dict[str, str] = {}  # those of them that the journal may not know

    @property
    def bot_id(self) -> str:
        return self._api.bot_id

    async def run(self, intake: Intake) -> None:
        """Receive messages until cancelled, whatever fails at Telegram or in the journal."""
        try:
            async with anyio.create_task_group() as tasks:
                while True:
                    try:
                        await self._round(intake)
                    except Exception as error:  # noqa: BLE001 - one failing channel must not end the others
                        await self._sleep(self._failed(error))
                        continue
                    if self._menus:  # once, beside the next poll: messages do not wait for it
                        tasks.start_soon(command_menu.offer, self._api, self._menus)
                        self._menus = {}
        finally:
            self.status.state = "stopped"

    async def _round(self, intake: Intake) -> None:
        bot = self._bot = self._bot or await self._introduce()
        if self._offset is None:
            moves = await intake.moves(self.name)
            self._moved = {old: new for new, old in moves.items()} | self._moved
            self._offset = await intake.offset(self.name, self.bot_id)
        began, first = self._clock(), self.status.state == "starting"
        # The first poll returns at once, so that a quiet bot is soon known to be ready.
        wait = 0 if first else POLL_WAIT
        failpoint("poll:before")
        received = await self._api.poll(self._offset, updates.KINDS, wait)
        failpoint("poll:after")
        for old, new in filter(None, map(updates.moved, received)):
            self._chat_moved(old, new)
        for old, new in [*self._unrecorded.items()]:
            await intake.moved(self.name, self.bot_id, old, new)
            self._unrecorded.pop(old)
        if received:
            await self._store(received, bot, intake)
        self._failures, self._conflict_since = 0, None
        self.status.state, self.status.detail = "ok", ""
        self.status.last_ok = self._clock()
        if not received and not first and self._clock() - began < 1:
            await self._sleep(1)  # this server does not hold polls open

    async def _introduce(self) -> Bot:
        """Learn the bot's name and make sure that updates can be polled."""
        me = await self._api.call("getMe", {}, User)
        self.status.withheld = "" if me.can_read_all_group_messages else PRIVACY_MODE
        try:
            webhook = await self._api.call("getWebhookInfo", {}, WebhookInfo)
            if webhook.url:
                # Never with drop_pending_updates, which would lose messages.
                await self._api.call("deleteWebhook", {}, object)
        except BotApiError as error:
            if not error.unsupported:
                raise
        return Bot(self.bot_id, me.username)

    async def _store(self, received: list[JsonValue], bot: Bot, intake: Intake) -> None:
        numbered = [
            (number, update)
            for update in received
            if (number := updates.update_number(update)) is not None
        ]
        if len(numbered) < len(received):
            log.warning("telegram_update_without_number", count=len(received) - len(numbered))
        if not numbered:
            raise SendError(
                "telegram getUpdates: the updates have no update_id; check TELEGRAM_API_URL",
                SendOutcome.UNKNOWN,
            )
        numbered.sort(key=itemgetter(0))  # one that comes again may stand before older ones
        # It may fall: after a quiet week Telegram's numbers start anywhere.
        offset = numbered[-1][0] + 1
        messages = [updates.inbound(update, number, bot) for number, update in numbered]
        answers = await intake.accept(messages, offset)
        self._offset = offset
        if answers:
            await self._answer_presses(answers)

    async def _answer_presses(self, answers: Mapping[str, str]) -> None:
        """Show each person who pressed a button what came of it; nothing depends on it."""
        with anyio.move_on_after(ANSWER_SECONDS):
            async with anyio.create_task_group() as tasks:
                for message_id, text in answers.items():
                    tasks.start_soon(self._answer_press, message_id, text)

    async def _answer_press(self, message_id: str, text: str) -> None:
        params: JsonObject = {
            "callback_query_id": message_id.removeprefix(updates.PRESSED),
            "text": formatting.plain(text)[:MAX_ANSWER],
        }
        try:
            await self._api.call("answerCallbackQuery", params, object)
        except BotApiError as error:
            log.debug("press_not_answered", problem=str(error))

    def _failed(self, error: Exception) -> float:
        self._failures += 1
        delay = 2.0 ** min(self._failures, 6)
        state, detail = "degraded", str(error) or type(error).__name__
        if not isinstance(error, SendError):
            detail = f"cannot store updates: {detail}"
        elif isinstance(error, BotApiError) and error.conflict:
            state, detail = self._conflicted()
            delay *= CONFLICT_BACKOFF / 2
        elif isinstance(error, BotApiError) and error.token_refused:
            detail = "token refused; copy it from @BotFather to TELEGRAM_BOT_TOKEN and restart"
            delay = MAX_BACKOFF
        if (state, detail) != (self.status.state, self.status.detail):
            log.warning("telegram_poll_failed", state=state, detail=detail)
        self.status.state, self.status.detail = state, detail
        if isinstance(error, SendError) and error.retry_after:
            return error.retry_after
        return min(MAX_BACKOFF, delay * (1 + self._chance() / 2))

    def _conflicted(self) -> tuple[str, str]:
        """Return the channel's state and detail while another program polls this bot."""
        now = self._clock()
        if self._conflict_since is None:
            self._conflict_since = now
        self._bot = None  # it may be a webhook: check again, and remove it
        lasting = now - self._conflict_since >= CONFLICT_PATIENCE
        return (
            "degraded" if lasting else self.status.state,
            "another program polls this bot; stop it, or use another bot on this machine",
        )

    def split(self, text: str, mark: str = "") -> tuple[ReplyPart, ...]:
        end = 2 * formatting.LIMIT if mark else None  # only the first part has a mark, and is shown
        return formatting.split(text[:end], mark)

    async def pace(self, chat_id: str) -> None:
        await self._limiter.wait(chat_id, GROUP_RATE if chat_id.startswith("-") else CHAT_RATE)

    async def send(self, part: OutboundPart) -> str:
        params: JsonObject = {}
        if part.thread_id:
            params["message_thread_id"] = _number(part.thread_id)
        if part.choices:
            row: list[JsonValue] = [
                {"text": choice.label, "callback_data": choice.data} for choice in part.choices
            ]
            params["reply_markup"] = {"inline_keyboard": [row]}
        origin, _, number = (part.reply_to or "").rpartition(":")
        here = self._moved.get(part.chat_id, part.chat_id)
        # Groups have negative numbers, and a supergroup numbers its messages anew.
        if number and here.startswith("-") and here == (origin or part.chat_id):
            params["reply_parameters"] = {
                "message_id": _number(number),
                "allow_sending_without_reply": True,
            }
        return str((await self._write("sendMessage", part, params, Sent)).message_id)

    async def edit(self, part: OutboundPart, message_id: str) -> None:
        try:
            await self._write("editMessageText", part, {"message_id": _number(message_id)}, object)
        except BotApiError as error:
            if not error.unchanged:
                raise

    async def remove(self, chat_id: str, message_id: str) -> None:
        message: JsonObject = {"chat_id": self._chat(chat_id), "message_id": _number(message_id)}
        await self._api.call("deleteMessage", message, object)

    async def download(self, handle: str, limit: int) -> bytes:
        return await self._api.download(handle, limit)

    def view(self, chat_id: str, text: str) -> None:
        """Do nothing: answers are streamed by editing a message."""

    def delivered_when_stored(self, chat_id: str) -> bool:
        """Return false: a reply must be sent."""
        del chat_id
        return False

    def replied(self, chat_id: str) -> None:
        """Do nothing: replies are sent."""

    async def typing(self, chat_id: str, thread_id: str | None) -> None:
        params: JsonObject = {"chat_id": self._chat(chat_id), "action": "typing"}
        if thread_id:
            params["message_thread_id"] = _number(thread_id)
        await self._api.call("sendChatAction", params, object)

    async def _write(
        self, method: str, part: OutboundPart, params: JsonObject, expected: type[Result]
    ) -> Result:
        """Send or edit a message, in the supergroup that its group has become."""
        try:
            return await self._write_once(method, part, params, expected)
        except BotApiError as error:
            if error.new_chat_id is None or error.new_chat_id == self._chat(part.chat_id):
                raise
            self._chat_moved(part.chat_id, str(error.new_chat_id))
        unrelated = {name: params[name] for name in params if name != "reply_parameters"}
        return await self._write_once(method, part, unrelated, expected)

    def _chat_moved(self, old: str, new: str) -> None:
        self._moved[old] = self._unrecorded[old] = new

    def _chat(self, chat_id: str) -> int | str:
        """Return Telegram's id of a chat that the journal knows by its first id."""
        return _number(self._moved.get(chat_id, chat_id))

    async def _write_once(
        self, method: str, part: OutboundPart, params: JsonObject, expected: type[Result]
    ) -> Result:
        """Send or edit a message, without formatting if Telegram refuses the formatting."""
        body: JsonObject = {"chat_id": self._chat(part.chat_id), **params}
        words = "caption"
        if part.file is None:
            words, body["link_preview_options"] = "text", {"is_disabled": True}
        rendered = part.rendered or (formatting.to_html(part.text) if part.markdown else "")
        if rendered.strip():
            try:
                formatted: JsonObject = {**body, words: rendered, "parse_mode": "HTML"}
                return await self._call(method, formatted, part.file, expected)
            except BotApiError as error:
                if not error.bad_format:
                    raise
        plain: JsonObject = {**body, words: formatting.plain(part.text)}
        return await self._call(method, plain, part.file, expected)

    async def _call(
        self, method: str, body: JsonObject, file: OutboundFile | None, expected: type[Result]
    ) -> Result:
        """Call a method, or send a file, as what it is if Telegram takes it for that."""
        if file is None:
            return await self._api.call(method, body, expected)
        method, field = _way(file)
        if method:
            try:
                return await self._api.upload(method, body, field, file, expected)
            except BotApiError as error:
                if not error.bad_file:
                    raise
        return await self._api.upload("sendDocument", body, "document", file, expected)


def _way(file: OutboundFile) -> tuple[str, str]:
    """Return how to send a picture or a sound: the method, and the field of its form."""
    if file.media_type in PHOTOS and len(file.data) <= MAX_PHOTO:
        return "sendPhoto", "photo"
    if file.voice and file.media_type in VOICES:
        return "sendVoice", "voice"
    return ("sendAudio", "audio") if file.media_type in AUDIOS else ("", "")


def _number(name: str) -> int | str:
    """Return an id as a number; a name such as ``@channel`` stays a string."""
    return int(name) if name.removeprefix("-").isdecimal() else name
