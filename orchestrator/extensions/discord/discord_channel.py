"""Discord over discord.py: the gateway in, the REST API out.

A message's key is its nonce, and Discord does not post the same nonce twice. But it forgets nonces
after a few minutes, so it would not recognize the repetition of an older message after an outage.
The bot's last message in the chat then shows whether that one arrived, since a chat's messages are
sent one after another. Both together send each message once.

Where: does a Discord message come in?
"""

import base64
import hashlib
import io
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

import anyio
import discord

from orchestrator.bounded_dict import BoundedDict
from orchestrator.channel_api import SendError, SendOutcome
from orchestrator.channelhost.channel_wire import MessageName, OutgoingMessage
from orchestrator.channelhost.foreign_channel import ChannelInbox
from orchestrator.errors import unwrap_cause
from orchestrator.extensions.discord.discord_client import DiscordClient, LoginBudget
from orchestrator.extensions.discord.discord_errors import translate_errors
from orchestrator.extensions.discord.discord_inbox import DiscordInbox
from orchestrator.extensions.discord.discord_markup import format_content
from orchestrator.extensions.discord.discord_progress import LATE, DiscordProgress, build_id_at
from thinker.protocol.messages import FileContent

NONCE_SECONDS = 60.0  # for which Discord certainly remembers a nonce
CLOCK_SECONDS = 10.0  # by which Discord's clock and this machine's may differ
SEARCHED = 100  # messages among which the bot's last one is looked for
REMEMBERED = 1000  # sent messages whose channel is known
NO_GATEWAY = "Discord's gateway gives no answer"
CLOSE_SECONDS = 1.0  # seconds for the gateway to say goodbye


def connect(options: Mapping[str, str], secrets: Mapping[str, str]) -> "DiscordChannel":
    """Return the channel; it connects when it runs."""
    del options  # it has none
    return DiscordChannel(secrets["DISCORD_BOT_TOKEN"])


class DiscordChannel:
    """One bot. ``clock`` returns seconds since the epoch."""

    def __init__(self, token: str, clock: Callable[[], float] = time.time) -> None:
        self._token = token
        self._clock = clock
        self._client: DiscordClient | None = None
        self._opening = anyio.Lock()
        self._logins = LoginBudget()
        self._sent = BoundedDict[str, int](REMEMBERED)  # channels by the ids of sent messages
        self._progress = DiscordProgress(after=0)

    # --- in --------------------------------------------------------------------------------------

    async def run(self, inbox: ChannelInbox) -> None:
        client = await self._open_client()
        self._progress = await self._load_progress(inbox)
        receiver = DiscordInbox(client, inbox, self._progress, self._sent.keys())
        client.put = receiver.put
        try:
            await anyio.sleep(self._logins.take_login(anyio.current_time()))
            with translate_errors():
                await self._receive_events(client, receiver)
        finally:
            with anyio.move_on_after(CLOSE_SECONDS, shield=True):
                await client.close()

    async def _load_progress(self, inbox: ChannelInbox) -> DiscordProgress:
        """Return the stored progress, with private chats that have stored nothing yet."""
        cursor = await inbox.load_cursor()
        if not cursor:
            # The first session begins now, not a little earlier.
            progress = DiscordProgress(after=build_id_at(self._clock() * 1000 + LATE))
        else:
            progress = DiscordProgress.model_validate_json(cursor)
        for chat in self._progress.private:
            progress.keep_private_chat(chat)
        return progress

    @staticmethod
    async def _receive_events(client: DiscordClient, receiver: DiscordInbox) -> None:
        """Receive until the gateway ends; the library resumes interrupted sessions."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(receiver.run)
                try:
                    await client.connect(reconnect=False)
                except TimeoutError as error:
                    raise SendError(NO_GATEWAY, SendOutcome.NOT_SENT) from error
                tasks.cancel_scope.cancel()
        except ExceptionGroup as group:
            raise unwrap_cause(group) from None

    async def _open_client(self) -> DiscordClient:
        """Return a logged-in client.

        Raises:
            SendError: logging in failed; nothing was sent.
        """
        async with self._opening:
            if self._client is None or self._client.is_closed():
                client = DiscordClient()
                try:
                    with translate_errors(lost=SendOutcome.NOT_SENT):
                        await client.login(self._token)
                except BaseException:
                    with anyio.CancelScope(shield=True):
                        await client.close()
                    raise
                self._client = client
            return self._client

    async def download(self, handle: str, limit: int) -> bytes:
        """Download a file, fetching its message again because file addresses expire."""
        chat, message_id, file_id = handle.split("/")
        with translate_errors(lost=SendOutcome.NOT_SENT):
            found = await (await self._get_chat(chat)).fetch_message(int(message_id))
            for attached in found.attachments:
                if str(attached.id) == file_id and attached.size <= limit:
                    return await attached.read()
        raise SendError(f"the file was removed, or is over {limit} bytes", SendOutcome.PERMANENT)

    # --- out -------------------------------------------------------------------------------------

    async def send(self, message: OutgoingMessage) -> str:
        chat = await self._get_chat(message.thread_id or message.chat_id)
        content = format_content(message.text, message.html)
        with translate_errors():
            sent = await self._find_arrived_id(chat, message, content)
            if sent is None:
                sent = (await self._send_content(chat, message, content)).id
        self._sent[str(sent)] = chat.id
        return str(sent)

    def _send_content(
        self, chat: discord.PartialMessageable, message: OutgoingMessage, content: str
    ) -> Awaitable[discord.Message]:
        files = [] if message.file is None else [_build_upload(message.file)]
        send = partial(
            chat.send,
            content,
            files=files,
            nonce=_build_nonce(message.key),
            allowed_mentions=discord.AllowedMentions.none(),
            suppress_embeds=True,
        )
        answered = message.reply_to if chat.id not in self._progress.private else None
        if not answered:
            return send()
        original = discord.MessageReference(
            message_id=int(answered), channel_id=chat.id, fail_if_not_exists=False
        )
        return send(reference=original)

    async def _find_arrived_id(
        self, chat: discord.PartialMessageable, message: OutgoingMessage, content: str
    ) -> int | None:
        """Return the id of a retried message if the chat already has it."""
        age = self._clock() - message.queued_at / 1000
        if not message.queued_at or 0 <= age < NONCE_SECONDS:
            return None
        after = discord.Object(build_id_at(message.queued_at - CLOCK_SECONDS * 1000))
        history = chat.history(limit=SEARCHED, after=after, oldest_first=False)
        bot = await self._get_bot_id()
        own = [said async for said in history if said.author.id == bot]
        if not own or str(own[0].id) in self._sent:
            return None
        return own[0].id if _is_same_message(own[0], message.file, content) else None

    async def edit(self, message: OutgoingMessage) -> None:
        content = format_content(message.text, message.html)
        place = await self._get_message(message.thread_id or message.chat_id, message.message_id)
        with translate_errors(edit=True):
            await place.edit(content=content, allowed_mentions=discord.AllowedMentions.none())

    async def remove(self, message: MessageName) -> None:
        place = await self._get_message(message.chat_id, message.message_id)
        with translate_errors(edit=True):
            await place.delete()

    async def show_typing(self, chat: MessageName) -> None:
        place = await self._get_chat(chat.thread_id or chat.chat_id)
        with translate_errors():
            await place.typing()

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def _get_bot_id(self) -> int:
        user = (await self._open_client()).user
        return user.id if user else 0

    async def _get_chat(self, chat_id: str) -> discord.PartialMessageable:
        """Return a channel, thread or private chat."""
        if not chat_id.isdecimal():
            raise SendError(f'"{chat_id}" is not a Discord id', SendOutcome.PERMANENT)
        return (await self._open_client()).get_partial_messageable(int(chat_id))

    async def _get_message(self, chat_id: str, message_id: str) -> discord.PartialMessage:
        """Return a sent message, which may be in a thread of ``chat_id``."""
        chat = await self._get_chat(str(self._sent.get(message_id, chat_id)))
        return chat.get_partial_message(int(message_id))


def _build_nonce(key: str) -> str | None:
    """Return up to 25 characters that represent a key."""
    return hashlib.blake2b(key.encode(), digest_size=12).hexdigest() if key else None


def _build_upload(file: FileContent) -> discord.File:
    return discord.File(io.BytesIO(base64.b64decode(file.data)), filename=file.name)


def _is_same_message(said: discord.Message, file: FileContent | None, content: str) -> bool:
    """Return whether a message has this content and file."""
    sizes = [] if file is None else [len(base64.b64decode(file.data))]
    return said.content.strip() == content.strip() and sizes == [
        attached.size for attached in said.attachments
    ]
