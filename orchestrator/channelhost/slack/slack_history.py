"""Fetch what was said while no connection listened."""

from collections.abc import Iterable
from decimal import Decimal

from orchestrator.channel_api import SendError, SendOutcome
from orchestrator.channelhost.slack.slack_answers import SlackChat, SlackChats, SlackHistory
from orchestrator.channelhost.slack.slack_api import PAGE, SlackApi
from orchestrator.channelhost.slack.slack_events import SlackCursor, SlackMessage, moment, said

KINDS = "public_channel,private_channel,mpim,im"
OVERLAP = 300  # seconds before the newest message: Slack repeats for so long, in no order
MAX_PAGES = 10  # of one chat or thread
MAX_CHAT_PAGES = 50  # of chats


async def missed(api: SlackApi, cursor: SlackCursor, bot: str) -> list[SlackMessage]:
    """Return messages and edits that came after the cursor, in all chats of the bot, in order.

    Some may be stored already. Of what is older than the cursor, the newest `PAGE` messages of each
    chat are looked at: for edits, and for threads with new answers.
    """
    since = max(moment(cursor.begun), moment(cursor.newest) - OVERLAP)
    found: list[SlackMessage] = []
    for chat in await _chats(api):
        try:
            found += _since_joined(await _said_in(api, chat, since), bot)
        except SendError as error:
            if error.outcome is not SendOutcome.PERMANENT:
                raise  # the bot is no longer in the others
    news = (_news(message, cursor, since) for message in found)
    return sorted((message for message in news if message is not None), key=_when)


async def _chats(api: SlackApi) -> list[SlackChat]:
    pages = await api.pages(
        lambda at: api.web.users_conversations(
            types=KINDS, exclude_archived=True, limit=PAGE, cursor=at
        ),
        SlackChats,
        MAX_CHAT_PAGES,
    )
    return [chat for page in pages for chat in page.channels]


async def _said_in(api: SlackApi, chat: SlackChat, since: Decimal) -> list[SlackMessage]:
    """Return the messages of a chat and of its threads with news, each once."""
    pages = await api.pages(
        lambda at: api.web.conversations_history(channel=chat.id, limit=PAGE, cursor=at),
        SlackHistory,
        MAX_PAGES,
        lambda page: not page.messages or moment(page.messages[-1].ts) <= since,
    )
    found = {message.ts: message for page in pages for message in page.messages}
    for root in [root for root in found.values() if moment(root.latest_reply) > since]:
        for message in await _thread(api, chat.id, root.ts, since):
            found.setdefault(message.ts, message)
    place = {"channel": chat.id, "channel_type": "im" if chat.is_im else ""}
    return [message.model_copy(update=place) for message in found.values()]


async def _thread(api: SlackApi, chat: str, root: str, since: Decimal) -> list[SlackMessage]:
    pages = await api.pages(
        lambda at: api.web.conversations_replies(
            channel=chat, ts=root, oldest=f"{since:.6f}", limit=PAGE, cursor=at
        ),
        SlackHistory,
        MAX_PAGES,
    )
    return [message for page in pages for message in page.messages]


def _since_joined(found: Iterable[SlackMessage], bot: str) -> list[SlackMessage]:
    """Return what was said once the bot was there, which is what it would have heard."""
    said_there = list(found)
    joined = [
        moment(message.ts)
        for message in said_there
        if message.subtype.endswith("_join") and message.user == bot
    ]
    return [message for message in said_there if moment(message.ts) > max(joined, default=0)]


def _news(message: SlackMessage, cursor: SlackCursor, since: Decimal) -> SlackMessage | None:
    """Return a message of the history as its event would have told it; None if it is old."""
    if moment(message.ts) > moment(cursor.newest):
        return said(message.model_copy(update={"edited": None}))
    return said(message) if _when(message) > since else None


def _when(message: SlackMessage) -> Decimal:
    return moment(message.edited.ts if message.edited else message.ts)
