"""The card: what every prompt of a chat shows, unchanged until the next sitting."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import job, opened
from fakes.memory import WORK, close_fact, insert_fact, own_of

from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import fact_cards, facts
from orchestrator.journal.memory.fact_cards import CARD_TOKENS, SITTING, SMALL_CARD_TOKENS
from orchestrator.journal.memory.memory_scope import FORGOTTEN, MemoryScope
from orchestrator.journal.memory.prompt_memory import TOKENS, load_prompt_memory
from orchestrator.journal.turns import sessions
from thinker.protocol.messages import Origin, UserMessage
from thinker.protocol.methods import Memory

NOON = 10 * SITTING
ANN = own_of("telegram:1")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal with the session 1 of the agent ``work``."""
    with opened(tmp_path) as connection, job(connection):
        sessions.open_session(connection, "work", "chat", 1)
        yield connection


def say(db: Database, at: int, session: int = 1) -> None:
    """Say something in the session."""
    sessions.append_messages(db, session, f"t{at}", [UserMessage(content="hi")], at)


def card(
    db: Database,
    until: int,
    session: int | None = 1,
    tokens: int = CARD_TOKENS,
    scope: MemoryScope = WORK,
) -> list[str]:
    """The facts on the card of a turn."""
    found = fact_cards.load_card(db, scope, session, until, tokens)
    return [memory.fact for memory in found.known.values()]


def learn(db: Database, *names: str, at: int = 1, origin: Origin = "user") -> None:
    """Store facts of these names."""
    for name in names:
        insert_fact(db, WORK, name, at, origin=origin)


def test_new_fact_is_on_the_card_of_the_next_sitting(db: Database) -> None:
    """It begins after two hours of silence."""
    learn(db, "one")
    assert card(db, NOON) == ["one"]
    say(db, NOON)
    learn(db, "two", at=NOON + 1)
    assert card(db, NOON + SITTING) == ["one"]
    assert card(db, NOON + SITTING + 1) == ["two", "one"]


def test_new_session_begins_a_sitting(db: Database) -> None:
    """As ``/new`` does."""
    learn(db, "one")
    assert card(db, NOON) == ["one"]
    say(db, NOON)
    learn(db, "two", at=NOON + 1)
    sessions.end_session(db, "work", "chat", NOON + 2)
    later = sessions.open_session(db, "work", "chat", NOON + 3)
    assert card(db, NOON + 3, later) == ["two", "one"]


def test_sixth_change_writes_the_card_anew(db: Database) -> None:
    """Of new facts and of such that ended."""
    learn(db, "one", "two")
    assert card(db, NOON) == ["two", "one"]
    say(db, NOON)
    close_fact(db, 2, "user", NOON + 1)
    learn(db, "a", "b", "c", "d", at=NOON + 2)
    assert card(db, NOON + 3) == ["one"]
    learn(db, "e", at=NOON + 4)
    assert card(db, NOON + 5) == ["e", "d", "c", "b", "a", "one"]


def test_fact_that_ends_or_is_forgotten_leaves_the_card_at_once(db: Database) -> None:
    """The rest stays as it is."""
    learn(db, "one", "two", "three")
    assert card(db, NOON) == ["three", "two", "one"]
    say(db, NOON)
    db.execute("DELETE FROM fact WHERE id = 1")
    assert card(db, NOON + 2) == ["three", "two"]
    newer = insert_fact(db, WORK, "2", NOON + 3)
    close_fact(db, 2, f"fact {newer}", NOON + 3)
    assert card(db, NOON + 4) == ["three"]


def test_resumed_turn_has_the_card_that_it_began_with(db: Database) -> None:
    """Whatever it has stored or ended itself, but not what was forgotten."""
    learn(db, "one", "two")
    for until in (NOON, NOON + 9):  # the first begins the sitting, the second is in it
        assert card(db, until) == ["two", "one"]
        close_fact(db, 1, "user", until + 1, at=1)
        learn(db, *(f"{until} {number}" for number in range(9)), at=until + 1)
        assert card(db, until) == ["two", "one"]
        db.execute("UPDATE fact SET valid_to = NULL, ended_by = NULL WHERE id = 1")
        say(db, NOON + 3)
        db.execute("DELETE FROM fact WHERE id > 2")
    close_fact(db, 1, f"{FORGOTTEN} user", NOON + 20)
    assert card(db, NOON + 9) == ["two"]


def test_what_the_user_is_comes_before_what_was_stated_and_what_was_found(db: Database) -> None:
    """Where not all fit; they are shown newest first."""
    sizes = {"is": 3, "stated": 3, "found": 3}
    for at, name in enumerate(("is", "found", "stated")):
        for number in range(sizes[name]):
            source = "extraction t1..t2" if name != "stated" else "turn t1"
            place = {"subject": "user", "slot": f"slot {number}"} if name == "is" else {}
            text = f"{name} {number} {'x' * 300}"
            insert_fact(db, WORK, text, at, source=source, **place)
    assert [fact[:7] for fact in card(db, NOON, tokens=500)] == [
        "stated ",
        "is 2 xx",
        "is 1 xx",
        "is 0 xx",
    ]


def test_newest_of_a_slot_is_on_the_card(db: Database) -> None:
    """By when it began; what begins later does not hide what is true."""
    for fact, since in (("Paris", 50), ("Rome", 40), ("Bonn", NOON + 1)):
        place = {"subject": "user", "slot": "home"}
        insert_fact(db, WORK, fact, 60, valid_from=since, **place)
    insert_fact(db, WORK, "Oslo", 60, subject="ann", slot="home")
    assert card(db, NOON) == ["Oslo", "Bonn", "Paris"]
    assert card(db, NOON + 1, None) == ["Oslo", "Bonn"]


def test_words_of_others_are_on_no_card(db: Database) -> None:
    """They would make every turn suspect; the turn that they fit gets them."""
    learn(db, "from the web", origin="web")
    learn(db, "by the user")
    assert card(db, NOON) == ["by the user"]
    known = load_prompt_memory(db, WORK, "web", ("*",), NOON, session_id=1).memories
    assert [(memory.fact, memory.standing) for memory in known] == [
        ("from the web", False),
        ("by the user", True),
    ]


def test_newest_ten_notes_are_on_the_card_and_leave_room(db: Database) -> None:
    """They are not facts that fit a message."""
    for number in range(12):
        insert_fact(db, WORK, f"Spoke of {number}.", number, category=facts.NOTE)
    assert card(db, NOON)[-1] == "Spoke of 2."
    assert len(card(db, NOON)) == 10
    fits = load_prompt_memory(db, WORK, "What was spoken of 1?", ("*",), NOON, session_id=1)
    assert all(memory.standing for memory in fits.memories)
    learn(db, *(f"{number} {'x' * 100}" for number in range(20)), at=NOON)
    kept = card(db, NOON + 1, None)
    assert (len([fact for fact in kept if "Spoke" in fact]), len(kept)) == (10, 18)


def test_memory_takes_at_most_its_tokens(db: Database) -> None:
    """Whatever is known: of the card, of both parts, and of a small model's card."""
    for number in range(60):
        learn(db, f"Boats {number} {'boat ' * (number * 7 % 90)}")
    for tokens, whole in ((CARD_TOKENS, TOKENS), (SMALL_CARD_TOKENS, TOKENS)):
        known = load_prompt_memory(db, WORK, "boats 3", ("*",), NOON, None, None, tokens).memories
        assert count_tokens([one for one in known if one.standing]) <= tokens
        assert 0.7 * tokens < count_tokens(known) <= whole
        assert len([one for one in known if not one.standing]) <= 5


def count_tokens(known: list[Memory] | tuple[Memory, ...]) -> float:
    """What memories take at most, with a time and a heading."""
    heading = "Relevant memories about the user:\n\n"
    lines = [f"- {one.fact} ({one.category}) (known since September 2026)\n" for one in known]
    return len(heading + "".join(lines)) / 4


def test_fact_that_is_longer_than_its_room_is_left_out(db: Database) -> None:
    """Others after it are shown."""
    learn(db, "short", "x" * 3000)
    assert card(db, NOON) == ["short"]


def test_each_chat_has_a_card_of_what_it_may_see(db: Database) -> None:
    """Chats that share a memory have sittings of their own."""
    learn(db, "of all")
    insert_fact(db, ANN, "of Ann")
    joined = MemoryScope("work", "telegram:2", joined=True, shared=True)
    assert card(db, NOON, scope=ANN) == ["of Ann"]
    assert card(db, NOON, scope=joined) == ["of all"]
    say(db, NOON)
    learn(db, "new", at=NOON + 1)
    assert card(db, NOON + 2, scope=joined) == ["of all"]
    assert card(db, NOON + 2, scope=MemoryScope("work", "web:3", joined=True, shared=True)) == []
    rows = db.execute("SELECT scope FROM memory_card ORDER BY scope").fetchall()
    assert [scope for (scope,) in rows] == ["telegram:1", "telegram:2"]


def test_single_fact_needs_no_time_to_compare(db: Database) -> None:
    """Several have one each, and one that is known for sure always."""
    learn(db, "one")
    (known,) = load_prompt_memory(db, WORK, "", ("*",), NOON).memories
    assert (known.since, known.stored) == (None, None)
    learn(db, "two", at=2)
    both = load_prompt_memory(db, WORK, "", ("*",), NOON).memories
    assert [(one.fact, one.since, one.stored) for one in both] == [
        ("two", None, 2),
        ("one", None, 1),
    ]
