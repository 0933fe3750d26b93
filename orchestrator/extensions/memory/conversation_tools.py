"""Tools for what was said in earlier conversations: a search, and reading on around a message."""

import re
from datetime import date, datetime
from zoneinfo import ZoneInfo

from orchestrator.extensions.memory import (
    conversation_windows,
    message_search,
    message_vectors,
)
from orchestrator.extensions.memory.message_indexer import index_before_search
from orchestrator.extensions.memory.message_ranking import rank_messages
from orchestrator.extensions.memory.message_search import MessageFilter
from orchestrator.extensions.memory.query_terms import read_question
from orchestrator.journal.db.database import Database
from orchestrator.tools.builtin.host_tool import (
    ToolContext,
    ToolFailure,
    mark_quoted_text,
    plain_tool,
    read_number_argument,
    read_text_argument,
)
from thinker.protocol.messages import JsonObject

TOKENS = 1500  # of a result by default
HIT_TOKENS = 100  # of a found message with its neighbours, where a number of them is asked for
MAX_TOKENS = 8000
MAX_FOUND = 100  # messages at most
INCOMPLETE = "Older messages are still being indexed; search again in a few minutes."
AROUND = 20  # messages that read_conversation shows by default
HANDLE = re.compile(r"m?(\d{1,18})")
DATE: JsonObject = {"type": "string", "description": "A date: 2026-05-31."}


@plain_tool(
    "Search what was said in earlier conversations. Found messages are marked with *, and shown"
    " with those beside them; read_conversation reads on around one.",
    {
        "query": "The words to look for: names, things, dates.",
        "after": DATE,
        "before": DATE,
        "who": "Only what this person, user or assistant said.",
        "tokens": {"type": "integer", "description": f"Size of the result, default {TOKENS}."},
        "limit": {"type": "integer", "description": "Found messages at most."},
    },
    ["query"],
    keywords="conversation, conversations, talked, discussed, earlier, last time, ago, did i say,"
    " did we, told you, mentioned",
    private=True,
)
async def search_conversations(context: ToolContext, arguments: JsonObject) -> str:
    limit = int(read_number_argument(arguments, "limit", MAX_FOUND, 1, MAX_FOUND))
    usual = max(TOKENS, HIT_TOKENS * limit) if "limit" in arguments else TOKENS
    tokens = int(read_number_argument(arguments, "tokens", usual, 100, MAX_TOKENS))
    zone = ZoneInfo(context.timezone)
    wanted = _read_filter(arguments, zone)
    query = read_text_argument(arguments, "query")
    question = read_question(query)
    store, memory = context.store, context.memory
    complete = await index_before_search(store)
    found = await store.search(message_search.look_up, memory, question)
    near = await _find_near_places(context, query)
    ranked = await context.off_loop(rank_messages, found.postings, found.total, near)

    def show(db: Database) -> conversation_windows.Shown:
        rows = message_search.read_messages(db, memory, question, ranked, wanted, zone)
        return conversation_windows.show_found(db, rows, question.telling, limit, tokens, zone)

    shown = await store.search(show)
    text = shown.text or "No messages match."
    return mark_quoted_text(text if complete else f"{text}\n{INCOMPLETE}", shown.origins)


@plain_tool(
    "Read what was said around a message that search_conversations found.",
    {
        "around": "The message, such as m1234.",
        "messages": {"type": "integer", "description": f"Default {AROUND}."},
    },
    ["around"],
    keywords="conversation, conversations, read on, said before, said after",
    private=True,
)
async def read_conversation(context: ToolContext, arguments: JsonObject) -> str:
    handle = read_text_argument(arguments, "around")
    count = int(read_number_argument(arguments, "messages", AROUND, 1, MAX_FOUND))
    zone = ZoneInfo(context.timezone)
    named = HANDLE.fullmatch(handle)
    number = int(named[1]) if named else 0
    shown = await context.store.read(
        conversation_windows.show_around, context.memory, number, count, zone
    )
    if shown is None:
        raise ToolFailure(f"there is no message {handle!r}; take one from search_conversations")
    return mark_quoted_text(shown.text, shown.origins)


async def _find_near_places(context: ToolContext, query: str) -> dict[int, float]:
    """Return the places of the messages nearest in meaning, with scores; none without vectors."""
    store, memory = context.store, context.memory
    if not await store.read(message_vectors.has_vectors, memory.agent_id):
        return {}
    meaning = await context.meaning(query)
    if meaning is None:
        return {}

    def rank_places(db: Database) -> dict[int, float]:
        near = message_vectors.rank_nearest_messages(db, memory, meaning)
        return message_search.load_places(db, near)

    return await store.search(rank_places)


def _read_filter(arguments: JsonObject, zone: ZoneInfo) -> MessageFilter:
    after, before = _read_day(arguments, "after"), _read_day(arguments, "before")
    return MessageFilter(
        0 if after is None else _to_milliseconds(after, zone),
        1 << 62 if before is None else _to_milliseconds(before, zone),
        read_text_argument(arguments, "who"),
    )


def _read_day(arguments: JsonObject, key: str) -> date | None:
    text = read_text_argument(arguments, key)
    try:
        return date.fromisoformat(text[:10]) if text else None
    except ValueError as error:
        raise ToolFailure(f"{key} must be a date such as 2026-05-31") from error


def _to_milliseconds(day: date, zone: ZoneInfo) -> int:
    return round(datetime(day.year, day.month, day.day, tzinfo=zone).timestamp() * 1000)
