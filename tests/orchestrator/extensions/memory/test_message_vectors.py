"""Vectors of messages: which are missing, which are nearest, and what becomes of old ones."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.embeddings_api import vector
from fakes.journal import job, opened
from fakes.memory import WORK, own_of

from orchestrator.extensions.memory import message_vectors
from orchestrator.extensions.memory.message_vectors import Coverage
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.journal.turns import sessions
from thinker.protocol.messages import AssistantMessage, Message, ToolCall, ToolResult, UserMessage
from thinker.protocol.vectors import compute_cosines, pack_vector

MODEL = "ollama/e"
SAID = (
    "Rex dug up the garden",
    "It will rain all day",
    "Here is the invoice of May",
    "What a day",
)


def say(db: Database, *texts: str, agent_id: str = "work", scope: str = "") -> None:
    """Messages of a user in a chat, with a call of a tool between them."""
    call = ToolCall(id="1", name="look", arguments={})
    messages: list[Message] = [UserMessage(content=text, sender_name="Ann") for text in texts]
    messages[1:1] = [
        AssistantMessage(tool_calls=(call,)),
        ToolResult(call_id="1", name="look", content="dog"),
    ]
    with job(db):
        session = sessions.open_session(db, agent_id, scope or "c", 1, scope)
        sessions.append_messages(db, session, "t1", messages, 1)


def next_messages(
    db: Database, limit: int = 1000, model: str = MODEL
) -> list[message_vectors.SpokenText]:
    """The messages of ``work`` that get their vectors next."""
    new = message_vectors.list_new_messages(db, "work", model, limit)
    return new or message_vectors.list_old_messages(db, "work", model, limit)


def embed(db: Database, limit: int = 100, model: str = MODEL) -> list[str]:
    """Store the next vectors of ``work``; return the texts that were embedded."""
    spoken = next_messages(db, limit, model)
    vectors = {number: pack_vector(vector(text)) for number, text in spoken}
    with job(db):
        message_vectors.store_vectors(db, "work", model, vectors)
    return [text for _, text in spoken]


def meaning(text: str, model: str = MODEL) -> Embedding:
    """What a question means."""
    return Embedding(model, pack_vector(vector(text)))


def found(db: Database, question: str, scope: MemoryScope = WORK, limit: int = 9) -> list[str]:
    """The messages nearest to a question, best first."""
    near = message_vectors.rank_nearest_messages(db, scope, meaning(question), limit)
    sql = "SELECT text FROM said WHERE id = ?"
    return [str(db.execute(sql, (number,)).get) for number in near]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal with a conversation of ``work`` and one of ``home``."""
    with opened(tmp_path) as connection:
        say(connection, *SAID)
        say(connection, "The puppy of home", agent_id="home")
        yield connection


def test_new_messages_come_first_then_the_newest_of_the_old_ones(db: Database) -> None:
    """Each once, with its author's name, and those of tools and other agents never."""
    assert embed(db, 2) == ["Ann: What a day", f"Ann: {SAID[2]}"]
    assert message_vectors.list_new_messages(db, "work", MODEL, 9) == []
    say(db, "Tea?", "Or cocoa?")
    assert embed(db, 1) == ["Ann: Tea?"]
    assert embed(db) == ["Ann: Or cocoa?"]
    assert embed(db) == [f"Ann: {SAID[1]}", f"Ann: {SAID[0]}"]
    assert embed(db) == []
    coverage = message_vectors.count_coverage(db, "work", MODEL)
    assert (coverage, coverage.is_complete) == ((6, 6), True)
    assert str(Coverage(1204, 5882)) == "vectors of 1,204 of 5,882 messages (20 %)"


def test_messages_of_many_sessions_come_in_their_order(db: Database) -> None:
    """Whichever chats they are in, a part at a time, also if a chat has tools' results alone."""
    call = ToolCall(id="1", name="look", arguments={})
    for number in range(12):
        say(db, f"Of chat {number % 4}: {number}", agent_id="many", scope=f"telegram:{number % 4}")
    with job(db):
        session = sessions.open_session(db, "many", "c9", 1, "telegram:9")
        sessions.append_messages(db, session, "t1", [AssistantMessage(tool_calls=(call,))], 1)
    said = [f"Ann: Of chat {number % 4}: {number}" for number in range(12)]
    sides = (message_vectors.BEFORE, [*reversed(said)]), (message_vectors.AFTER, said)
    for side, expected in sides:
        bound = message_vectors.MAX_ID if side == message_vectors.BEFORE else 0
        for limit in (1, 3, 5, 12, 40):
            listed = message_vectors._list_messages(db, "many", side, bound, limit)
            assert [text for _, text in listed] == expected[:limit]


def test_message_is_found_without_a_shared_word(db: Database) -> None:
    """The nearest first, with scores from 1 down to 0."""
    embed(db)
    assert found(db, "Which animal was it?")[0] == SAID[0]
    assert found(db, "Take an umbrella?", limit=1) == [SAID[1]]
    near = message_vectors.rank_nearest_messages(db, WORK, meaning("puppy"), 9)
    assert (max(near.values()), min(near.values())) == (1, 0)


def test_messages_of_other_chats_and_agents_are_not_found(db: Database) -> None:
    """A chat has its own; the scope of the whole agent has all of them."""
    say(db, "My dog is old", scope="telegram:1")
    say(db, "My puppy is young", scope="telegram:2")
    embed(db)
    assert found(db, "pet", own_of("telegram:1")) == ["My dog is old"]
    assert found(db, "pet", own_of("telegram:3")) == []
    assert {*found(db, "pet", limit=3)} == {SAID[0], "My dog is old", "My puppy is young"}
    assert found(db, "pet", MemoryScope.for_whole_agent("home")) == []


def test_vectors_of_another_model_are_not_compared_and_go(db: Database) -> None:
    """A part at a time; the messages are embedded anew."""
    embed(db)
    other = meaning("pet", "openai/f")
    assert message_vectors.rank_nearest_messages(db, WORK, other, 9) == {}
    longer = Embedding(MODEL, pack_vector([1.0] * 9))
    assert message_vectors.rank_nearest_messages(db, WORK, longer, 9) == {}
    with job(db):
        assert message_vectors.delete_stale_vectors(db, "work", meaning("pet")) == 0
        assert message_vectors.delete_stale_vectors(db, "work", other) == len(SAID)
    assert len(embed(db, model="openai/f")) == len(SAID)
    assert message_vectors.rank_nearest_messages(db, WORK, other, 9)


def test_vector_goes_with_its_message(db: Database) -> None:
    """And none is stored of a message that was deleted while the model was asked."""
    embed(db, 2)
    spoken = next_messages(db)
    with job(db):
        db.execute("DELETE FROM message")
        vectors = {number: pack_vector(vector(text)) for number, text in spoken}
        message_vectors.store_vectors(db, "work", MODEL, vectors)
    assert db.execute("SELECT count(*) FROM message_vector").get == 0


def test_nearest_of_many_is_found(db: Database) -> None:
    """By the signs alone, before any numbers are compared."""
    rng = random.Random(1)  # noqa: S311 - the same numbers at every run, not a secret
    say(db, *(f"Bill number {number}" for number in range(400)))
    spoken = next_messages(db, model="g")
    made = {number: [rng.gauss(0, 1) for _ in range(64)] for number, _ in spoken}
    with job(db):
        packed = {number: pack_vector(numbers) for number, numbers in made.items()}
        message_vectors.store_vectors(db, "work", "g", packed)
    for number in list(made)[::40]:
        near = Embedding("g", pack_vector([value + rng.gauss(0, 0.5) for value in made[number]]))
        assert next(iter(message_vectors.rank_nearest_messages(db, WORK, near, 5))) == number


def test_shortened_vector_has_nearly_the_same_cosines() -> None:
    """To two digits, whatever its length."""
    rng = random.Random(2)  # noqa: S311 - the same numbers at every run, not a secret
    one, *others = (pack_vector([rng.gauss(0.1, 1) for _ in range(384)]) for _ in range(20))
    exact = compute_cosines(one, enumerate(others))
    short = enumerate(message_vectors.shorten_vector(other) for other in others)
    for number, near in message_vectors.compare_shortened(one, short).items():
        assert near == pytest.approx(exact[number], abs=0.005)
