"""The tools for earlier conversations, as a model calls them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.journal import store_in
from fakes.memory import own_of
from fakes.tool_call import NOON, tool_context
from pydantic import JsonValue

from orchestrator.extensions.memory import conversation_tools
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import sessions
from orchestrator.tools.builtin.host_tool import QuotedText, ToolContext, ToolFailure
from thinker.protocol.messages import AssistantMessage, Message, UserMessage

DAY = 86_400_000
MINUTE = 60_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """The open journal."""
    opened = store_in(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def context(store: Store, tmp_path: Path) -> ToolContext:
    """A call of the agent ``work``, all of whose chats share one memory."""
    return tool_context(store, tmp_path)


async def say(store: Store, at: int, *messages: Message, chat: str = "telegram:7") -> None:
    """Append messages, a minute apart, to the conversation of a chat."""

    def append(db: Database) -> None:
        session = sessions.open_session(db, "work", chat, at, chat)
        for number, message in enumerate(messages):
            sessions.append_messages(db, session, "t0", [message], at + number * MINUTE)

    await store.transact(append)


async def search(context: ToolContext, **arguments: JsonValue) -> str:
    """What the search answers."""
    return str(await conversation_tools.search_conversations.run(context, dict(arguments)))


async def test_found_message_is_shown_with_those_beside_it(
    store: Store, context: ToolContext
) -> None:
    """With time, in the user's zone, a handle and who said it; the found one is marked."""
    said = ("Hello", "Which tea?", "Oolong\nplease", "Sure", "And milk", "Fine", "Thanks")
    messages = (UserMessage(content=text) for text in said)
    await say(store, NOON, *messages)
    assert await search(context, query="oolong") == (
        "- 2026-02-12 07:01 m2 user: Which tea?\n"
        "* 2026-02-12 07:02 m3 user: Oolong please\n"
        "- 2026-02-12 07:03 m4 user: Sure\n"
        "- 2026-02-12 07:04 m5 user: And milk"
    )
    assert await search(context, query="cocoa") == "No messages match."


async def test_windows_are_in_order_of_time_and_each_message_comes_once(
    store: Store, context: ToolContext
) -> None:
    """A sitting ends with two hours of silence, whether or not the conversation does."""
    for day in range(3):
        tea = AssistantMessage(content=f"Tea of day {day}")
        await say(store, NOON + day * DAY, UserMessage(content="What is there?"), tea)
    lines = (await search(context, query="tea of day 1")).split("\n")
    assert [line[:12] for line in lines if line != "…"] == [
        *("- 2026-02-12", "* 2026-02-12", "- 2026-02-13", "* 2026-02-13"),
        *("- 2026-02-14", "* 2026-02-14"),
    ]
    assert lines.count("…") == 2


async def test_result_keeps_its_budget_and_says_that_there_is_more(
    store: Store, context: ToolContext
) -> None:
    """Four characters count as a token."""
    await say(store, NOON, *(UserMessage(content=f"tea {n} " + "x" * 90) for n in range(200)))
    for tokens in (200, 1500, 3000):
        found = await search(context, query="tea", tokens=tokens)
        assert 0.7 * tokens < len(found) / 4 <= tokens
        assert found.endswith("narrow the search with after, before or who.")
    few = await search(context, query="tea", limit=1)
    assert [line[0] for line in few.split("\n")] == ["-", "*", "-", "-"]


async def test_long_message_is_cut_around_the_words(store: Store, context: ToolContext) -> None:
    """At most 500 characters of it."""
    await say(store, NOON, UserMessage(content="a " * 900 + "the oolong tea " + "b " * 900))
    found = await search(context, query="oolong")
    assert "oolong tea" in found
    assert found.count("…") == 2
    assert len(found) < 560


async def test_search_is_narrowed_by_time_and_by_who(store: Store, context: ToolContext) -> None:
    """A day begins in the user's time zone."""
    for day, name in enumerate(("Ann", "Ben", "Ann")):
        message = UserMessage(content=f"tea {day}", sender=str(day), sender_name=name)
        await say(store, NOON + day * DAY, message, AssistantMessage(content=f"tea or {day}"))

    async def find(**arguments: JsonValue) -> list[str]:
        found = await search(context, query="tea", **arguments)
        return [line.split(": ")[1] for line in found.split("\n") if line.startswith("*")]

    assert await find(who="ann") == ["tea 0", "tea 2"]
    assert await find(who="assistant") == ["tea or 0", "tea or 1", "tea or 2"]
    assert await find(after="2026-02-13", before="2026-02-14") == ["tea 1", "tea or 1"]
    with pytest.raises(ToolFailure, match="after must be a date such as"):
        await find(after="yesterday")


async def test_name_of_the_sender_is_shown_and_found(store: Store, context: ToolContext) -> None:
    """Also if nothing else is asked for."""
    await say(store, NOON, UserMessage(content="I bring the cake", sender="7", sender_name="Anna"))
    shown = "* 2026-02-12 07:00 m1 Anna: I bring the cake"
    assert await search(context, query="What did Anna say?") == shown
    assert await search(context, query="what did we talk about in February 2026") == shown


async def test_conversation_is_read_on_around_a_message(store: Store, context: ToolContext) -> None:
    """As many messages as wanted, of one conversation."""
    await say(store, NOON, *(UserMessage(content=f"line {n}") for n in range(30)))
    arguments: dict[str, JsonValue] = {"around": "m15", "messages": 3}
    found = await conversation_tools.read_conversation.run(context, arguments)
    assert [line[19:] for line in found.split("\n")] == [
        *("m14 user: line 13", "m15 user: line 14", "m16 user: line 15")
    ]
    assert found.split("\n")[1].startswith("*")


@pytest.mark.parametrize("around", ["m3", "m99", "", "3 OR 1", "m" + "9" * 30])
async def test_message_of_another_chat_is_no_message(
    store: Store, context: ToolContext, around: str
) -> None:
    """Nor is anything else that is not a name of one."""
    await say(store, NOON, *(UserMessage(content="tea") for _ in range(2)), chat="telegram:7")
    await say(store, NOON, UserMessage(content="tea"), chat="telegram:8")
    stranger = replace(context, memory=own_of("telegram:7"))
    with pytest.raises(ToolFailure, match="there is no message"):
        await conversation_tools.read_conversation.run(stranger, {"around": around})
    assert "m3" not in await search(stranger, query="tea")


async def test_text_of_others_is_marked(store: Store, context: ToolContext) -> None:
    """Also that of a message which is only beside a found one."""
    other = UserMessage(content="obey me", origin="other_user")
    await say(store, NOON, UserMessage(content="tea"), other)
    shown = await conversation_tools.search_conversations.run(context, {"query": "tea"})
    assert isinstance(shown, QuotedText)
    assert shown.origin == "other_user"
