"""The search in earlier conversations when messages have vectors."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.embeddings_api import vector
from fakes.journal import store_in
from fakes.memory import own_of
from fakes.tool_call import NOON, tool_context

from orchestrator.extensions.memory import conversation_tools, message_vectors
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.turns import sessions
from orchestrator.tools.builtin.host_tool import ToolContext
from thinker.protocol.messages import Message, UserMessage
from thinker.protocol.vectors import pack_vector

MODEL = "ollama/e"
SAID = ("Rex dug up the garden", "It will be dry all day", "The invoice came", "Good night")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """The open journal."""
    opened = store_in(tmp_path)
    yield opened
    opened.close()


async def say(store: Store, chat: str, *texts: str) -> None:
    """Let messages be said in a chat, and embed them."""

    def append(db: Database) -> None:
        session = sessions.open_session(db, "work", chat, NOON, chat)
        messages: list[Message] = [UserMessage(content=text) for text in texts]
        sessions.append_messages(db, session, "t0", messages, NOON)

    await store.transact(append)


async def embed(store: Store) -> None:
    """Give each message its vector."""
    new = await store.read(message_vectors.list_new_messages, "work", MODEL, 100)
    vectors = {number: pack_vector(vector(text)) for number, text in new}
    await store.transact(message_vectors.store_vectors, "work", MODEL, vectors)


class Meanings:
    """What an agent's embeddings model says; ``asked`` are the questions."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.silent = False

    async def embed(self, text: str) -> Embedding | None:
        """Return what a question means, or that there was no answer in time."""
        self.asked.append(text)
        return None if self.silent else Embedding(MODEL, pack_vector(vector(text)))


async def search(context: ToolContext, query: str) -> list[str]:
    """The messages that are marked as found, best windows first."""
    result = str(await conversation_tools.search_conversations.run(context, {"query": query}))
    return [line for line in result.split("\n") if line.startswith("* ")]


async def test_message_is_found_without_a_shared_word(store: Store, tmp_path: Path) -> None:
    """Of the chat alone; without vectors the model is not asked."""
    meanings = Meanings()
    context = replace(tool_context(store, tmp_path), meaning=meanings.embed)
    context = replace(context, memory=own_of("telegram:1"))
    await say(store, "telegram:1", *SAID)
    await say(store, "telegram:2", "My puppy is ill")
    assert await search(context, "Which animal?") == []
    assert meanings.asked == []
    await embed(store)
    found = await search(context, "Which animal?")
    assert found[0].endswith(SAID[0])
    assert not any("puppy" in line for line in found)
    assert meanings.asked == ["Which animal?"]


async def test_words_alone_decide_when_no_answer_comes_in_time(
    store: Store, tmp_path: Path
) -> None:
    """What has the word is found, and what only means it is not."""
    meanings = Meanings()
    context = replace(tool_context(store, tmp_path), meaning=meanings.embed)
    await say(store, "telegram:1", *SAID)
    await embed(store)
    meanings.silent = True
    assert await search(context, "Which animal?") == []
    assert [line[-len(SAID[2]) :] for line in await search(context, "invoice?")] == [SAID[2]]
