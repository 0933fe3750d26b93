"""Slack over slack-sdk: Socket Mode in, the Web API out.

Slack repeats an event that is not acknowledged within three seconds, and forgets it after some
minutes; what it forgot is read from the histories of the chats. It has no keys of messages: one
whose answer was lost may be there or not.
"""

import base64
from collections.abc import Iterable, Mapping

import anyio

from orchestrator.channel_api import SendError, SendOutcome
from orchestrator.channelhost.channel_wire import MessageName, OutgoingMessage, ReceivedMessage
from orchestrator.channelhost.foreign_channel import ChannelInbox, readable
from orchestrator.channelhost.slack.slack_answers import SlackPerson, SlackPosted
from orchestrator.channelhost.slack.slack_api import SlackApi
from orchestrator.channelhost.slack.slack_events import (
    SlackCursor,
    SlackMessage,
    SlackView,
    received,
    said,
)
from orchestrator.channelhost.slack.slack_history import missed
from orchestrator.channelhost.slack.slack_markup import to_mrkdwn
from orchestrator.channelhost.slack.slack_socket import SocketMode
from orchestrator.errors import only_cause
from orchestrator.recent import Recent
from orchestrator.reply_html import escaped
from thinker.protocol.messages import FileContent

MAX_NAMES = 10_000  # people whose names are remembered


def connect(options: Mapping[str, str], secrets: Mapping[str, str]) -> "SlackChannel":
    """Return the channel; it connects when it runs."""
    tokens = secrets["SLACK_BOT_TOKEN"], secrets["SLACK_APP_TOKEN"]
    return SlackChannel(SlackApi(options["api"], *tokens))


class SlackChannel:
    """One app in a workspace."""

    def __init__(self, api: SlackApi) -> None:
        self._api = api
        self._names = Recent[str, str](MAX_NAMES)

    # --- in --------------------------------------------------------------------------------------

    async def run(self, inbox: ChannelInbox) -> None:
        try:
            async with anyio.create_task_group() as tasks:
                with SocketMode(self._api, tasks) as socket:
                    await self._receive(inbox, socket)
        except ExceptionGroup as group:
            raise only_cause(group) from group

    async def _receive(self, inbox: ChannelInbox, socket: SocketMode) -> None:
        bot = await self._api.identity()
        view = SlackView(bot.user_id, bot.bot_id, self._names)
        stored = await inbox.cursor()
        if stored:
            cursor = SlackCursor.model_validate_json(stored)
        else:
            cursor = SlackCursor(begun=bot.now, newest=bot.now)
            await inbox.begin(cursor.model_dump_json())
        await socket.begin()  # what is said from now on waits until what was missed is stored
        late = await missed(self._api, cursor, bot.user_id)
        for found in late:
            cursor = cursor.after(found.ts)
        if messages := await self._translated(late, view):
            await inbox.accept(messages, cursor.model_dump_json())
        inbox.receiving()
        async for delivery in socket.deliveries:
            message = said(delivery.event)
            if message is not None:
                cursor = cursor.after(message.ts)
                messages = await self._translated([message], view)
                await inbox.accept(messages, cursor.model_dump_json())
            await delivery.acknowledge()

    async def _translated(
        self, messages: Iterable[SlackMessage], view: SlackView
    ) -> list[ReceivedMessage]:
        found = []
        for message in messages:
            for person in message.people:
                await self._learn_name(person)
            translated = readable(received, message, view)
            if translated is not None:
                found.append(translated)
        return found

    async def _learn_name(self, person: str) -> None:
        """Remember what a person is called; one whose name is not told keeps the id."""
        if person in self._names:
            return
        try:
            found = await self._api.ask(self._api.web.users_info(user=person), SlackPerson)
        except SendError as error:
            if error.outcome is SendOutcome.PERMANENT:
                self._names[person] = ""
            return
        self._names[person] = found.shown_name

    async def download(self, handle: str, limit: int) -> bytes:
        return await self._api.download(handle, limit)

    # --- out -------------------------------------------------------------------------------------

    async def send(self, message: OutgoingMessage) -> str:
        if message.file is not None:
            return await self._send_file(message, message.file)
        call = self._api.web.chat_postMessage(
            channel=message.chat_id,
            text=_text(message),
            thread_ts=message.thread_id,
            parse="none",
            link_names=False,
            unfurl_links=False,
            unfurl_media=False,
        )
        return (await self._api.ask(call, SlackPosted)).ts

    async def _send_file(self, message: OutgoingMessage, file: FileContent) -> str:
        """Show a file in a chat; the id is the file's, as Slack does not tell the message's."""
        file_id = await self._api.upload(file.name, base64.b64decode(file.data))
        shown = {
            "files": [{"id": file_id, "title": file.name}],
            "channel_id": message.chat_id,
            "initial_comment": _text(message) or None,
            "thread_ts": message.thread_id,
        }
        body = {name: value for name, value in shown.items() if value is not None}
        call = self._api.web.api_call("files.completeUploadExternal", json=body)
        await self._api.ask(call, SlackPosted)
        return file_id

    async def edit(self, message: OutgoingMessage) -> None:
        call = self._api.web.chat_update(
            channel=message.chat_id,
            ts=message.message_id,
            text=_text(message),
            parse="none",
            link_names=False,
        )
        await self._api.ask(call, SlackPosted)

    async def remove(self, message: MessageName) -> None:
        call = self._api.web.chat_delete(channel=message.chat_id, ts=message.message_id)
        try:
            await self._api.ask(call, SlackPosted)
        except SendError as error:
            if error.outcome is not SendOutcome.GONE:
                raise

    async def typing(self, chat: MessageName) -> None:
        """Do nothing: Slack shows no one typing but people."""

    async def close(self) -> None:
        await self._api.close()


def _text(message: OutgoingMessage) -> str:
    return to_mrkdwn(message.html) if message.html else escaped(message.text)
