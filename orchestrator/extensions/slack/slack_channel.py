"""Slack over slack-sdk: Socket Mode in, the Web API out.

Slack repeats an event that is not acknowledged within three seconds, and forgets it after some
minutes; forgotten ones are read from the histories of the chats. It has no message keys: a message
whose answer was lost may or may not have arrived.

Where: does a Slack message come in?
"""

import base64
from collections.abc import Iterable, Mapping

import anyio

from orchestrator.bounded_dict import BoundedDict
from orchestrator.channel_api import SendError, SendOutcome
from orchestrator.channelhost.channel_wire import MessageName, OutgoingMessage, ReceivedMessage
from orchestrator.channelhost.foreign_channel import ChannelInbox, try_read_message
from orchestrator.errors import unwrap_cause
from orchestrator.extensions.slack.slack_answers import SlackPerson, SlackSentMessage
from orchestrator.extensions.slack.slack_api import SlackApi
from orchestrator.extensions.slack.slack_events import (
    SlackCursor,
    SlackMessage,
    SlackView,
    convert_slack_message,
    extract_message,
)
from orchestrator.extensions.slack.slack_history import fetch_missed_messages
from orchestrator.extensions.slack.slack_markup import render_mrkdwn
from orchestrator.extensions.slack.slack_socket import SocketMode
from orchestrator.reply_html import escape_text
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
        self._names = BoundedDict[str, str](MAX_NAMES)

    # --- in --------------------------------------------------------------------------------------

    async def run(self, inbox: ChannelInbox) -> None:
        try:
            async with anyio.create_task_group() as tasks:
                with SocketMode(self._api, tasks) as socket:
                    await self._receive_messages(inbox, socket)
        except ExceptionGroup as group:
            raise unwrap_cause(group) from group

    async def _receive_messages(self, inbox: ChannelInbox, socket: SocketMode) -> None:
        bot = await self._api.fetch_identity()
        view = SlackView(bot.user_id, bot.bot_id, self._names)
        stored = await inbox.load_cursor()
        if stored:
            cursor = SlackCursor.model_validate_json(stored)
        else:
            cursor = SlackCursor(begun=bot.now, newest=bot.now)
            await inbox.store_cursor(cursor.model_dump_json())
        await socket.begin_session()  # new messages wait until missed ones are stored
        late = await fetch_missed_messages(self._api, cursor, bot.user_id)
        for found in late:
            cursor = cursor.move_after(found.ts)
        if messages := await self._translate_messages(late, view):
            await inbox.store_messages(messages, cursor.model_dump_json())
        inbox.report_receiving()
        async for delivery in socket.deliveries:
            message = extract_message(delivery.event)
            if message is not None:
                cursor = cursor.move_after(message.ts)
                messages = await self._translate_messages([message], view)
                await inbox.store_messages(messages, cursor.model_dump_json())
            await delivery.acknowledge()

    async def _translate_messages(
        self, messages: Iterable[SlackMessage], view: SlackView
    ) -> list[ReceivedMessage]:
        found = []
        for message in messages:
            for person in message.people:
                await self._learn_name(person)
            translated = try_read_message(convert_slack_message, message, view)
            if translated is not None:
                found.append(translated)
        return found

    async def _learn_name(self, person: str) -> None:
        """Learn a person's name; an unknown one stays an id."""
        if person in self._names:
            return
        try:
            found = await self._api.fetch_answer(self._api.web.users_info(user=person), SlackPerson)
        except SendError as error:
            if error.outcome is SendOutcome.PERMANENT:
                self._names[person] = ""
            return
        self._names[person] = found.shown_name

    async def download(self, handle: str, limit: int) -> bytes:
        return await self._api.download_file(handle, limit)

    # --- out -------------------------------------------------------------------------------------

    async def send(self, message: OutgoingMessage) -> str:
        if message.file is not None:
            return await self._send_file(message, message.file)
        call = self._api.web.chat_postMessage(
            channel=message.chat_id,
            text=_format_text(message),
            thread_ts=message.thread_id,
            parse="none",
            link_names=False,
            unfurl_links=False,
            unfurl_media=False,
        )
        return (await self._api.fetch_answer(call, SlackSentMessage)).ts

    async def _send_file(self, message: OutgoingMessage, file: FileContent) -> str:
        """Show a file in a chat; return the file's id, as Slack does not return the message's."""
        file_id = await self._api.upload_file(file.name, base64.b64decode(file.data))
        shown = {
            "files": [{"id": file_id, "title": file.name}],
            "channel_id": message.chat_id,
            "initial_comment": _format_text(message) or None,
            "thread_ts": message.thread_id,
        }
        body = {name: value for name, value in shown.items() if value is not None}
        call = self._api.web.api_call("files.completeUploadExternal", json=body)
        await self._api.fetch_answer(call, SlackSentMessage)
        return file_id

    async def edit(self, message: OutgoingMessage) -> None:
        call = self._api.web.chat_update(
            channel=message.chat_id,
            ts=message.message_id,
            text=_format_text(message),
            parse="none",
            link_names=False,
        )
        await self._api.fetch_answer(call, SlackSentMessage)

    async def remove(self, message: MessageName) -> None:
        call = self._api.web.chat_delete(channel=message.chat_id, ts=message.message_id)
        try:
            await self._api.fetch_answer(call, SlackSentMessage)
        except SendError as error:
            if error.outcome is not SendOutcome.GONE:
                raise

    async def show_typing(self, chat: MessageName) -> None:
        """Do nothing: Slack has no typing indicator for bots."""

    async def close(self) -> None:
        await self._api.close()


def _format_text(message: OutgoingMessage) -> str:
    return render_mrkdwn(message.html) if message.html else escape_text(message.text)
