"""Sessions that want a summary or to be looked through, and what is written of it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.journal import job, next_turn, opened, receive, update
from fakes.memory import WORK, own_of, scoped
from fakes.statements import store_fact

from orchestrator.extensions.memory import due_sessions, fact_reads
from orchestrator.extensions.memory.memory_requests import ExtractedFact
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import facts
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.journal.turns import sessions, turns
from orchestrator.journal.turns.outbox import OutboxPart
from thinker.protocol.messages import AssistantMessage, Message, ToolCall, ToolResult, UserMessage

ALL = {"work": 0}


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """An empty journal."""
    with opened(tmp_path) as connection:
        yield connection


def talk(db: Database, turns: int, first: int = 0, size: int = 40) -> int:
    """A session of ``work`` with so many turns more; each says its number and is answered."""
    session = sessions.open_session(db, "work", "c", 1)
    for number in range(first, first + turns):
        said: list[Message] = [
            UserMessage(content=f"{number}".ljust(size)),
            AssistantMessage(content="yes"),
        ]
        sessions.append_messages(db, session, f"t{number}", said, number)
    return session


def fact(text: str) -> ExtractedFact:
    """A certain fact."""
    return ExtractedFact(fact=text, category="background", confidence=0.8)


def test_tool_payloads_count() -> None:
    """Arguments and results, at four characters a token."""
    call = ToolCall(id="c", name="put", arguments={"text": "x" * 400})
    assert sessions.estimate_tokens(AssistantMessage(tool_calls=(call,))) > 100
    assert sessions.estimate_tokens(ToolResult(call_id="c", name="put", content="y" * 400)) == 100


def test_session_is_large_beyond_its_agents_limit(db: Database) -> None:
    """Agents without a limit are left alone; one that has ended is too."""
    session = talk(db, 10)
    assert due_sessions.list_large_sessions(db, {"work": 109}) == [(session, "work", 110)]
    assert (
        due_sessions.list_large_sessions(db, {"work": 110})
        == due_sessions.list_large_sessions(db, {})
        == []
    )
    assert due_sessions.list_large_sessions(db, {"home": 1}) == []
    sessions.end_session(db, "work", "c", 9)
    assert due_sessions.list_large_sessions(db, {"work": 1}) == []


def test_newest_turns_stay_and_the_summary_takes_the_place_of_the_rest(db: Database) -> None:
    """The next one is made from the summary and what came after it."""
    session = talk(db, 8)
    part = due_sessions.find_compaction_input(db, session, 5)
    assert part is not None
    assert [said.message.content.strip() for said in part.messages[::2]] == ["0", "1", "2"]
    assert due_sessions.store_summary(db, part, "Three numbers.")
    assert sessions.load_summary(db, session)[0] == "Three numbers."
    assert len(sessions.list_history(db, session, 50)) == 10
    assert due_sessions.list_large_sessions(db, ALL) == [(session, "work", 55)]
    assert due_sessions.find_compaction_input(db, session, 5) is None
    talk(db, 3, first=8)
    following = due_sessions.find_compaction_input(db, session, 5)
    assert following is not None
    assert following.summary == "Three numbers."
    assert [said.message.content.strip() for said in following.messages[::2]] == ["3", "4", "5"]


def test_summary_of_a_part_that_another_summary_covers_changes_nothing(db: Database) -> None:
    """Two processes may have asked; the first to write wins."""
    session = talk(db, 8)
    part = due_sessions.find_compaction_input(db, session, 5)
    assert part is not None
    assert due_sessions.store_summary(db, part, "first")
    assert not due_sessions.store_summary(db, part, "second")
    assert sessions.load_summary(db, session)[0] == "first"


def test_what_is_too_long_for_one_summary_waits_for_the_next(db: Database) -> None:
    """Turns are not cut in two."""
    session = talk(db, 8, size=30_000)
    part = due_sessions.find_compaction_input(db, session, 5)
    assert part is not None
    assert [said.message.content.strip() for said in part.messages[::2]] == ["0"]


def test_session_is_quiet_after_its_agents_time(db: Database) -> None:
    """And it is known when the next one will be."""
    session = talk(db, 2)
    assert due_sessions.list_idle_sessions(db, {"work": 100}, 100) == ([], 101)
    assert due_sessions.list_idle_sessions(db, {"work": 100}, 101) == ([(session, "work")], None)
    assert due_sessions.list_idle_sessions(db, {"home": 100}, 101) == ([], None)


def test_each_stretch_is_looked_through_once(db: Database) -> None:
    """Facts and mark are one; what was said since is the next stretch."""
    session = talk(db, 2)
    stretch = due_sessions.find_unextracted_range(db, session, 10, scoped)
    assert stretch is not None
    assert stretch.turns == ("t0", "t1")
    rains = [fact("It rains."), fact("It rains.")]
    assert len(due_sessions.store_extracted_facts(db, stretch, rains, 7).new) == 1
    assert due_sessions.store_extracted_facts(db, stretch, [fact("It snows.")], 7).new == ()
    (kept,) = fact_reads.list_newest_facts(db, WORK, None, facts.FOREVER, 9)
    assert (kept.fact, kept.source, kept.confidence) == ("It rains.", "extraction t0..t1", 0.8)
    assert due_sessions.find_unextracted_range(db, session, 10, scoped) is None
    assert due_sessions.list_idle_sessions(db, ALL, 99) == ([], None)
    talk(db, 3, first=2)
    following = due_sessions.find_unextracted_range(db, session, 2, scoped)
    assert following is not None
    assert following.turns == ("t2", "t3")
    assert [one.fact for one in following.known] == ["It rains."]


def test_too_little_said_waits_until_there_is_more(db: Database) -> None:
    """And counts then."""
    session = talk(db, 1)
    assert due_sessions.find_unextracted_range(db, session, 10, scoped) is None
    assert due_sessions.list_idle_sessions(db, ALL, 99) == ([], None)
    talk(db, 1, first=1)
    assert due_sessions.list_idle_sessions(db, ALL, 99) == ([(session, "work")], None)
    stretch = due_sessions.find_unextracted_range(db, session, 10, scoped)
    assert stretch is not None
    assert stretch.turns == ("t0", "t1")


def test_secret_is_not_kept_and_a_known_fact_is_touched(db: Database) -> None:
    """The rest of the list is kept all the same."""
    session = talk(db, 2)
    store_fact(db, WORK, "It rains.", "background", "turn t0", 1)
    stretch = due_sessions.find_unextracted_range(db, session, 10, scoped)
    assert stretch is not None
    found = [fact("The password is hunter2!"), fact("It rains."), fact("It is late.")]
    assert len(due_sessions.store_extracted_facts(db, stretch, found, 7).new) == 1
    kept = fact_reads.list_newest_facts(db, WORK, None, facts.FOREVER, 9)
    assert [(item.fact, item.updated_at) for item in kept] == [("It is late.", 7), ("It rains.", 7)]


def test_failed_stretch_is_tried_again_when_quiet_for_as_long_once_more(
    db: Database,
) -> None:
    """Not sooner than what was said meanwhile asks for."""
    session = talk(db, 2)
    due_sessions.postpone_extraction(db, session, 50, 10)
    assert due_sessions.list_idle_sessions(db, {"work": 10}, 98) == ([], 99)
    due_sessions.postpone_extraction(db, session, 20, 10)
    assert due_sessions.list_idle_sessions(db, {"work": 10}, 98) == ([], 99)
    due_sessions.postpone_extraction(db, session, 99, 10)
    assert due_sessions.list_idle_sessions(db, {"work": 10}, 99) == ([], 197)
    due_sessions.postpone_extraction(db, session, 10**12, 10)
    weeks_later = 10**12 + 7 * 86_400_000
    assert due_sessions.list_idle_sessions(db, {"work": 10}, 10**12) == ([], weeks_later)


def test_facts_of_a_conversation_belong_to_its_chat(db: Database) -> None:
    """And only what is known there is shown to the model."""
    store_fact(db, WORK, "It rains.", "background", "turn t0", 1)
    session = sessions.open_session(db, "work", "d", 1, "telegram:1")
    for number in range(2):
        said: list[Message] = [UserMessage(content="rain"), AssistantMessage(content="yes")]
        sessions.append_messages(db, session, f"t{number}", said, number)

    def own(_: Database, agent_id: str, scope: str) -> MemoryScope:
        return MemoryScope(agent_id, scope, joined=False, shared=False)

    stretch = due_sessions.find_unextracted_range(db, session, 10, own)
    assert stretch is not None
    assert stretch.known == ()
    both = [fact("It rains."), fact("It snows.")]
    assert len(due_sessions.store_extracted_facts(db, stretch, both, 7).new) == 2
    (kept,) = fact_reads.search_facts(db, own_of("telegram:1"), "snows", 1)
    assert kept.fact == "It snows."
    assert fact_reads.search_facts(db, own_of("telegram:2"), "snows", 1) == []


def test_message_counts_from_when_it_came_and_has_the_name_of_its_author(db: Database) -> None:
    """In a group; without the row that it came in, when it was answered, and by the author's id."""
    with job(db):
        turns.boot(db, 0)
    for number, name in ((1, "Anna\n\u202eBanana"), (2, "")):
        said = replace(update(number), private=False, sender_id=f"{number}0", sender_name=name)
        receive(db, said, now=number)
        turn = next_turn(db, f"t{number}", now=50)
        assert turn is not None
        with job(db):
            turns.end_with_reply(db, turn, [OutboxPart("yes")], "direct", ("done", None), 90)
    session = int(db.execute("SELECT id FROM session").get)
    lost: list[Message] = [UserMessage(content="hm", sender="30"), AssistantMessage(content="no")]
    sessions.append_messages(db, session, "t3", lost, 95)
    part = due_sessions.find_unextracted_range(db, session, 10, scoped)
    assert part is not None
    assert [(one.at, one.sender) for one in part.messages] == [
        (1, "Anna Banana"),
        (1, ""),
        (2, "20"),
        (2, ""),
        (95, "30"),
        (95, ""),
    ]


def test_only_what_is_said_is_looked_through(db: Database) -> None:
    """What tools returned is not sent, but its origin counts."""
    session = talk(db, 2)
    page = ToolResult(call_id="c", name="web_fetch", content="x", origin="web")
    sessions.append_messages(db, session, "t2", [page], 3)
    part = due_sessions.find_unextracted_range(db, session, 10, scoped)
    assert part is not None
    assert (len(part.messages), part.origin) == (4, "web")
