"""Fetch the messages that were missed without a connection."""

from collections.abc import Iterable
from decimal import Decimal

from orchestrator.channel_api import SendError, SendOutcome
from orchestrator.extensions.slack.slack_answers import SlackChat, SlackChats, SlackHistory
from orchestrator.extensions.slack.slack_api import PAGE, SlackApi
from orchestrator.extensions.slack.slack_events import (
    SlackCursor,
    SlackMessage,
    extract_message,
    parse_timestamp,
)

KINDS = "public_channel,private_channel,mpim,im"
OVERLAP = 300  # seconds before the newest message: Slack repeats events for so long, in any order
MAX_PAGES = 10  # of one chat or thread
MAX_CHAT_PAGES = 50  # of chats


async def fetch_missed_messages(api: SlackApi, cursor: SlackCursor, bot: str) -> list[SlackMessage]:
    """Return messages and edits since the cursor, in all of the bot's chats, in order.

    Some may be stored already. Of older messages, the newest `PAGE` of each chat are checked for
    edits and new answers in their threads.
    """
    since = max(parse_timestamp(cursor.begun), parse_timestamp(cursor.newest) - OVERLAP)
    found: list[SlackMessage] = []
    for chat in await _fetch_chats(api):
        try:
            found += _select_since_joined(await _fetch_chat_messages(api, chat, since), bot)
        except SendError as error:
            if error.outcome is not SendOutcome.PERMANENT:
                raise  # the bot is no longer in the others
    news = (_select_news(message, cursor, since) for message in found)
    return sorted((message for message in news if message is not None), key=_find_change_time)


async def _fetch_chats(api: SlackApi) -> list[SlackChat]:
    pages = await api.fetch_pages(
        lambda at: api.web.users_conversations(
            types=KINDS, exclude_archived=True, limit=PAGE, cursor=at
        ),
        SlackChats,
        MAX_CHAT_PAGES,
    )
    return [chat for page in pages for chat in page.channels]


async def _fetch_chat_messages(
    api: SlackApi, chat: SlackChat, since: Decimal
) -> list[SlackMessage]:
    """Return the messages of a chat and of its updated threads, each once."""
    pages = await api.fetch_pages(
        lambda at: api.web.conversations_history(channel=chat.id, limit=PAGE, cursor=at),
        SlackHistory,
        MAX_PAGES,
        lambda page: not page.messages or parse_timestamp(page.messages[-1].ts) <= since,
    )
    found = {message.ts: message for page in pages for message in page.messages}
    for root in [root for root in found.values() if parse_timestamp(root.latest_reply) > since]:
        for message in await _fetch_thread(api, chat.id, root.ts, since):
            found.setdefault(message.ts, message)
    place = {"channel": chat.id, "channel_type": "im" if chat.is_im else ""}
    return [message.model_copy(update=place) for message in found.values()]


async def _fetch_thread(api: SlackApi, chat: str, root: str, since: Decimal) -> list[SlackMessage]:
    pages = await api.fetch_pages(
        lambda at: api.web.conversations_replies(
            channel=chat, ts=root, oldest=f"{since:.6f}", limit=PAGE, cursor=at
        ),
        SlackHistory,
        MAX_PAGES,
    )
    return [message for page in pages for message in page.messages]


def _select_since_joined(found: Iterable[SlackMessage], bot: str) -> list[SlackMessage]:
    """Select the messages since the bot joined."""
    said_there = list(found)
    joined = [
        parse_timestamp(message.ts)
        for message in said_there
        if message.subtype.endswith("_join") and message.user == bot
    ]
    return [
        message for message in said_there if parse_timestamp(message.ts) > max(joined, default=0)
    ]


def _select_news(message: SlackMessage, cursor: SlackCursor, since: Decimal) -> SlackMessage | None:
    """Return a message of a history in the form of its event; None if it is old."""
    if parse_timestamp(message.ts) > parse_timestamp(cursor.newest):
        return extract_message(message.model_copy(update={"edited": None}))
    return extract_message(message) if _find_change_time(message) > since else None


def _find_change_time(message: SlackMessage) -> Decimal:
    return parse_timestamp(message.edited.ts if message.edited else message.ts)
