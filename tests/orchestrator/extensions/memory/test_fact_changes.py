"""Changes of facts: what was known is kept and can be restored for a day, or is forgotten."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.journal import job, opened
from fakes.memory import HOME, WORK, own_of
from fakes.postgresql import needs_server, sqlite_only
from fakes.statements import store_fact
from fakes.two_writers import two_writers

from orchestrator.channel_api import InboundMessage
from orchestrator.errors import UnknownNameError
from orchestrator.extensions.memory import fact_changes, fact_reads
from orchestrator.extensions.memory.fact_changes import DAY, RefusedFactError, Statement
from orchestrator.journal.db.database import Connection, Database
from orchestrator.journal.memory import facts
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.journal.turns import chat_moves, inbox, sessions, turns
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.journal.turns.outbox import Address
from orchestrator.journal.turns.turns import TurnAdmission
from thinker.protocol.messages import AssistantMessage, LayerRecord, Message, Origin, UserMessage

PARIS = Statement("User lives in Paris", "contact", "turn t1", slot="home city")
BERLIN = Statement("User lives in Berlin", "contact", "turn t2", slot="home city")
ANN, OPERATOR = own_of("telegram:1"), own_of("telegram:3", shared=True)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    """A journal with the fact 1: the user lives in Paris."""
    with opened(tmp_path) as connection:
        fact_changes.store_statement(connection, WORK, PARIS, 1)
        yield connection


def known(db: Database, until: int = facts.FOREVER) -> list[str]:
    """The open facts, newest first."""
    return [fact.fact for fact in fact_reads.list_newest_facts(db, WORK, None, 99, 9, until)]


def forget(db: Database, number: int, now: int) -> None:
    """Forget a fact, so that it can be restored for a day."""
    fact_changes.forget_fact(db, WORK, number, "user", now, for_good=False)


def test_replaced_fact_ends_and_can_be_listed(db: Database) -> None:
    """It ends when the new one begins; what the new one leaves out is as it was."""
    stored = fact_changes.replace_fact(db, WORK, 1, BERLIN, 9)
    assert known(db) == ["User lives in Berlin"]
    new, old = fact_changes.list_history(db, WORK, 1)
    assert (new.id, new.subject, new.slot, new.ended_by) == (stored.id, "user", "home city", None)
    assert (old.id, old.valid_to, old.ended_by) == (1, 9, "fact 2")


def test_fact_that_ends_later_is_known_until_then(db: Database) -> None:
    """Both are, between the news and the move."""
    later = Statement("User lives in Rome", "contact", "turn t2", valid_from=100)
    fact_changes.replace_fact(db, WORK, 1, later, 9)
    assert known(db, 50) == ["User lives in Rome", "User lives in Paris"]
    assert known(db, 101) == ["User lives in Rome"]


def test_resumed_turn_knows_what_it_has_changed_itself(db: Database) -> None:
    """Its prompt is built again as it was; but what was forgotten is in no prompt."""
    before = Statement("User lives in Rome", "contact", "turn t2", valid_from=2)
    fact_changes.replace_fact(db, WORK, 1, before, 9)
    (old,) = fact_reads.search_facts(db, WORK, "Where does the user live?", 9, 5)
    assert old.id == 1
    assert fact_reads.search_facts(db, WORK, "Paris", 9, 9) == []
    forget(db, 2, 11)
    assert fact_reads.search_facts(db, WORK, "Rome", 9, 10) == []


def test_replacement_that_is_known_is_not_doubled(db: Database) -> None:
    """The old one points to it, and the undoing leaves it open."""
    other = store_fact(db, WORK, BERLIN.fact, now=2)
    assert fact_changes.replace_fact(db, WORK, 1, BERLIN, 9) == (other.id, False, ())
    assert known(db) == ["User lives in Berlin"]
    fact_changes.undo_change(db, WORK, 1, 10)
    assert known(db) == ["User lives in Berlin", "User lives in Paris"]


def test_same_text_with_other_fields_is_the_same_fact(db: Database) -> None:
    """Nothing ends."""
    changed = Statement(PARIS.fact, "background", "turn t2", 0.9, valid_from=7)
    assert fact_changes.replace_fact(db, WORK, 1, changed, 9) == (1, False, ())
    (fact,) = fact_changes.list_history(db, WORK, 1)
    assert (fact.category, fact.confidence, fact.valid_from) == ("background", 0.9, 7)
    assert (fact.slot, fact.ended_by) == ("home city", None)


def test_closed_fact_that_is_true_again_is_a_new_one(db: Database) -> None:
    """The old row keeps its own time."""
    fact_changes.end_fact(db, WORK, 1, "extraction", 5, at=3)
    assert known(db) == []
    stored = fact_changes.store_statement(db, WORK, PARIS, 9)
    assert stored is not None
    assert (stored.new, known(db)) == (True, [PARIS.fact])
    old = facts.find_fact(db, WORK, 1)
    assert old is not None
    assert (old.valid_to, old.ended_by) == (3, "extraction")


@pytest.mark.parametrize("origin", ["web", "tool", "other_user"])
def test_words_of_others_end_nothing_that_the_user_said(db: Database, origin: Origin) -> None:
    """What others wrote themselves they may change."""
    hostile = Statement("User lives in Hades", "contact", "extraction t2..t2", origin=origin)
    with pytest.raises(RefusedFactError, match="what others wrote cannot change fact 1"):
        fact_changes.replace_fact(db, WORK, 1, hostile, 9)
    with pytest.raises(RefusedFactError, match="what others wrote cannot change fact 1"):
        fact_changes.end_fact(db, WORK, 1, "extraction", 9, origin=origin)
    stored = fact_changes.store_statement(db, WORK, hostile, 9)
    assert stored is not None
    fact_changes.end_fact(db, WORK, stored.id, "extraction", 10, origin=origin)
    assert known(db) == [PARIS.fact]


def test_edit_of_a_person_is_a_replacement_of_their_own_words(db: Database) -> None:
    """Recorded in the audit log; the time of the beginning stays."""
    db.execute("UPDATE fact SET valid_from = 1, origin = 'web', confidence = 0.7")
    stored = fact_changes.edit_fact(db, WORK, 1, BERLIN.fact, "operator", 9)
    fact = facts.find_fact(db, WORK, stored.id)
    assert fact is not None
    assert (fact.source, fact.origin, fact.confidence) == ("operator", "operator", 1)
    assert (fact.valid_from, fact.slot) == (1, "home city")
    assert fact_changes.edit_fact(db, WORK, stored.id, BERLIN.fact, "user", 9) == (2, False, ())
    rows = db.execute("SELECT actor, act, object FROM audit").fetchall()
    assert rows == [("operator", "edited a fact", "fact 1")]


def test_forgotten_fact_is_not_found_in_a_conversation_again(db: Database) -> None:
    """Whatever its case, signs and articles; other statements with its words are."""
    forget(db, 1, 9)
    for text in ("User lives in Paris", "The user lives in  PARIS."):
        found = Statement(text, "background", "extraction t3..t3", slot="town")
        assert fact_changes.store_statement(db, WORK, found, 10) is None
    not_there = Statement("User does not live in Paris", "contact", "extraction t3..t3")
    assert fact_changes.store_statement(db, WORK, not_there, 10) is not None
    assert fact_changes.store_statement(db, ANN, PARIS, 10) is not None


def test_forgotten_fact_that_is_stated_anew_is_known_again(db: Database) -> None:
    """By a tool call or a person; then conversations may repeat it."""
    forget(db, 1, 9)
    stored = fact_changes.store_statement(db, WORK, PARIS, 10)
    assert stored is not None
    again = Statement(PARIS.fact, "contact", "extraction t3..t3")
    assert fact_changes.store_statement(db, WORK, again, 11) == (stored.id, False, ())


def test_forgotten_fact_is_shown_nowhere_and_deleted_a_day_later(db: Database) -> None:
    """With its earlier versions; others stay."""
    fact_changes.replace_fact(db, WORK, 1, BERLIN, 5)
    store_fact(db, WORK, "User likes tea", now=6)
    forget(db, 2, 9)
    assert facts.find_fact(db, WORK, 2) is None
    assert fact_reads.search_facts(db, WORK, "Berlin Paris", 9) == []
    assert fact_changes.purge_forgotten(db, 9 + DAY - 1) == 0
    assert fact_changes.purge_forgotten(db, 9 + DAY) == 1
    assert db.execute("SELECT id FROM fact").fetchall() == [(3,)]


def test_fact_forgotten_for_good_is_deleted_with_its_versions_at_once(db: Database) -> None:
    """Only hashes are left, and a line in the audit log."""
    fact_changes.replace_fact(db, WORK, 1, BERLIN, 5)
    fact_changes.forget_fact(db, WORK, 2, "operator", 9, for_good=True)
    assert db.execute("SELECT count(*) FROM fact").get == 0
    hashes = db.execute("SELECT count(DISTINCT digest) FROM fact_gone").get
    assert (hashes, db.execute("SELECT actor, object FROM audit").get) == (
        4,  # of both versions, by their words and by the value of their slot
        ("operator", "fact 2"),
    )
    with pytest.raises(UnknownNameError, match="there is no fact 2"):
        fact_changes.undo_change(db, WORK, 2, 10)


def test_number_of_a_deleted_fact_is_never_given_again(db: Database) -> None:
    """An old notice with it would undo another fact; not even if no fact is left."""
    second = store_fact(db, WORK, "User likes tea").id
    fact_changes.forget_fact(db, WORK, second, "operator", 9, for_good=True)
    third = store_fact(db, WORK, "User likes milk").id
    assert (second, third) == (2, 3)
    for number in (1, third):
        forget(db, number, 9)
    fact_changes.purge_forgotten(db, 9 + DAY)
    assert store_fact(db, WORK, "User likes juice").id == 4


@sqlite_only
@pytest.mark.parametrize("for_good", [True, False])
def test_forgotten_fact_is_overwritten_in_the_file(
    db: Connection, tmp_path: Path, *, for_good: bool
) -> None:
    """At once, or a day later; also in the indexes, with words between those of others."""
    for number in range(150):
        store_fact(db, WORK, f"The box {number} holds nothing")
        if number == 70:
            fact = store_fact(db, WORK, "The zebrafish hides in the quagmire")
    fact_changes.forget_fact(db, WORK, fact.id, "operator", 9, for_good=for_good)
    fact_changes.purge_forgotten(db, 9 + DAY)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for path in tmp_path.glob("journal.db*"):
        data = path.read_bytes()
        assert [part for part in (b"zebrafish", b"ebraf", b"quagm", b"qua") if part in data] == []


@pytest.mark.parametrize("for_good", [True, False])
def test_forgotten_texts_go_from_prompts_since_the_first_was_known(
    db: Database, *, for_good: bool
) -> None:
    """Those of earlier versions, too; what is older by more than a day is not read."""
    stored = store_fact(db, WORK, "User likes tea", now=5 * DAY)
    coffee = Statement("User likes coffee", "preference", "turn t2")
    newer = fact_changes.replace_fact(db, WORK, stored.id, coffee, 50 * DAY)
    session = sessions.open_session(db, "work", "c", 1)
    layers = (LayerRecord(name="memory", text="- User likes tea\n- User likes coffee"),)
    for at in (DAY, 5 * DAY, 50 * DAY):
        said = UserMessage(content="hello", context=layers)
        sessions.append_messages(db, session, f"t{at}", [said], at)
    fact_changes.forget_fact(db, WORK, newer.id, "user", 51 * DAY, for_good=for_good)
    shown = [str(body) for (body,) in db.execute("SELECT body FROM message ORDER BY id")]
    assert ["likes tea" in body for body in shown] == [True, False, False]
    assert ["likes coffee" in body for body in shown] == [True, False, False]


def test_operator_restores_what_a_chat_of_a_shared_memory_told(db: Database) -> None:
    """The operator's commands know the memory of the row, not the chat."""
    address = Address("telegram", "1", "7")
    inbox.ingest(db, [Arrival(InboundMessage("telegram", "1", "7", "1", "7", text="hi"))], None, 1)
    row = inbox.find_oldest_new(db, address.chat_key)
    assert row is not None
    turns.admit_message(db, row, TurnAdmission("t1", "work", 1, 15, "1"), 2)
    by_row = MemoryScope("work", "", joined=False, shared=False)
    again = Statement(PARIS.fact, "contact", "extraction t1..t1")
    fact_changes.forget_fact(db, by_row, 1, "operator", 9, for_good=False)
    assert db.execute("SELECT DISTINCT scope FROM fact_gone").get == "telegram:7"
    assert fact_changes.store_statement(db, WORK, again, 10) is None
    fact_changes.undo_change(db, by_row, 1, 11)
    assert fact_changes.store_statement(db, WORK, again, 12) == (1, False, ())


def test_hashes_of_two_journals_differ(db: Database, tmp_path: Path) -> None:
    """So that none tells what was forgotten in the other."""
    folder = tmp_path / "other"
    folder.mkdir()
    with opened(folder) as other:
        fact_changes.store_statement(other, WORK, PARIS, 1)
        digests = set()
        for journal in (db, other):
            forget(journal, 1, 9)
            digests |= {digest for (digest,) in journal.execute("SELECT digest FROM fact_gone")}
    assert len(digests) == 4


@pytest.mark.parametrize("change", ["replace", "edit", "end", "forget"])
def test_change_is_undone_within_a_day(db: Database, change: str) -> None:
    """The fact is open as before, its replacement closed; it may be changed again."""
    if change == "replace":
        fact_changes.replace_fact(db, WORK, 1, BERLIN, 9)
    elif change == "edit":
        fact_changes.edit_fact(db, WORK, 1, BERLIN.fact, "user", 9)
    elif change == "end":
        fact_changes.end_fact(db, WORK, 1, "user", 9)
    else:
        forget(db, 1, 9)
    fact = fact_changes.undo_change(db, WORK, 1, 9 + DAY)
    assert (fact.valid_to, fact.ended_by) == (None, None)
    assert known(db) == [PARIS.fact]
    assert db.execute("SELECT count(*) FROM fact_gone").get == 0
    fact_changes.replace_fact(db, WORK, 1, BERLIN, 10 + DAY)
    assert known(db) == [BERLIN.fact]


def test_new_number_undoes_its_change_as_well(db: Database) -> None:
    """It is the one that people are told; that of a new fact forgets it."""
    new = fact_changes.replace_fact(db, WORK, 1, BERLIN, 9)
    assert fact_changes.undo_change(db, WORK, new.id, 10).id == 1
    assert known(db) == [PARIS.fact]
    tea = store_fact(db, WORK, "User likes tea", now=10)
    fact_changes.undo_change(db, WORK, tea.id, 11)
    assert known(db) == [PARIS.fact]
    found = Statement("User likes tea", "preference", "extraction t3..t3")
    assert fact_changes.store_statement(db, WORK, found, 12) is None


@pytest.mark.parametrize(
    ("now", "message"),
    [(10 + DAY, "more than a day ago"), (9 + 2 * DAY, "more than a day ago")],
)
def test_change_of_yesterday_is_not_undone(db: Database, now: int, message: str) -> None:
    """The answer says what to do."""
    fact_changes.replace_fact(db, WORK, 1, BERLIN, 9)
    with pytest.raises(RefusedFactError, match=message):
        fact_changes.undo_change(db, WORK, 1, now)
    with pytest.raises(RefusedFactError, match="has not changed within a day"):
        fact_changes.undo_change(db, WORK, 2, now)


def test_changes_are_undone_in_order(db: Database) -> None:
    """The latest first."""
    fact_changes.replace_fact(db, WORK, 1, BERLIN, 9)
    rome = Statement("User lives in Rome", "contact", "turn t3")
    fact_changes.replace_fact(db, WORK, 2, rome, 10)
    with pytest.raises(RefusedFactError, match="undo 2 first"):
        fact_changes.undo_change(db, WORK, 1, 11)
    for number in (2, 1):
        fact_changes.undo_change(db, WORK, number, 11)
    assert known(db) == [PARIS.fact]


def test_fact_that_was_stated_anew_is_not_restored_beside_it(db: Database) -> None:
    """The same text is open once."""
    fact_changes.end_fact(db, WORK, 1, "user", 9)
    fact_changes.store_statement(db, WORK, PARIS, 10)
    with pytest.raises(RefusedFactError, match="fact 2 says exactly this"):
        fact_changes.undo_change(db, WORK, 1, 11)


def test_shared_fact_stays_shared_when_a_chat_replaces_it(db: Database) -> None:
    """The other chats would lose it otherwise."""
    fact_changes.replace_fact(db, OPERATOR, 1, BERLIN, 9)
    assert known(db) == [BERLIN.fact]


def test_unknown_and_ended_facts_are_told(db: Database) -> None:
    """With what to name instead."""
    with pytest.raises(UnknownNameError, match="there is no fact 7"):
        fact_changes.end_fact(db, WORK, 7, "user", 9)
    fact_changes.replace_fact(db, WORK, 1, BERLIN, 9)
    with pytest.raises(UnknownNameError, match="was replaced by fact 2; name that"):
        fact_changes.end_fact(db, WORK, 1, "user", 10)
    fact_changes.end_fact(db, WORK, 2, "user", 10)
    with pytest.raises(UnknownNameError, match="fact 2 has ended"):
        fact_changes.edit_fact(db, WORK, 2, "x", "user", 11)


def test_fact_of_a_tool_knows_the_message_that_says_it(db: Database) -> None:
    """From the end of its turn on: the first message; one that knows its own keeps that."""
    told = Statement("User likes tea", "preference", "extraction t1..t1", said_in=77)
    fact_changes.store_statement(db, WORK, told, 2)
    session = sessions.open_session(db, "work", "c", 1)
    for turn in ("t0", "t1", "t2"):
        said: list[Message] = [UserMessage(content="I live"), AssistantMessage(content="Noted.")]
        sessions.append_messages(db, session, turn, said, 3)
    (first,) = db.execute("SELECT min(id) FROM message WHERE turn_id = 't1'").fetchone()
    rows = db.execute("SELECT said_in FROM fact ORDER BY id").fetchall()
    assert rows == [(first,), (77,)]


def test_known_fact_is_touched_and_not_doubled(db: Database) -> None:
    """It says whether it was new."""
    assert store_fact(db, WORK, "User likes tea").new
    assert not store_fact(db, WORK, "User likes tea", "preference", now=9).new
    rows = db.execute("SELECT created_at, updated_at FROM fact WHERE fact LIKE '%tea'").fetchall()
    assert rows == [(1, 9)]


def test_forgotten_city_is_not_learned_in_other_words(db: Database) -> None:
    """As the manual says."""
    told = Statement("User lives in Oslo", "contact", "t", subject="user", slot="home city")
    stored = fact_changes.store_statement(db, WORK, told, 1)
    assert stored is not None
    forget(db, stored.id, 2)
    found = replace(told, fact="User has moved to Oslo", source="extraction t3..t3")
    assert fact_changes.store_statement(db, WORK, found, 3) is None


def test_controls_are_not_stored(db: Database) -> None:
    """Whatever stores the fact; emoji keep their joiners, and no line can begin in a fact."""
    family = "\U0001f468\u200d\U0001f469"
    told = f"\x1b[31mLikes\x00 tea\x9b\n- {family}\u2028!"
    store_fact(db, WORK, told)
    fact_changes.edit_fact(db, WORK, 1, f"Edited: {told}", "user", 2)
    assert known(db) == [f"Edited: [31mLikes tea - {family} !", f"[31mLikes tea - {family} !"]
    for empty in ("\x1b\n", ""):
        with pytest.raises(RefusedFactError, match="the fact is empty"):
            store_fact(db, WORK, empty)


def test_fact_of_the_greatest_length_is_stored_once(db: Database) -> None:
    """In any script, and also where an index takes only short texts."""
    fact = "".join(chr(0x4E00 + number * 7) for number in range(2000))
    stored = store_fact(db, WORK, fact)
    assert store_fact(db, WORK, fact, now=2) == stored._replace(new=False)


def test_changes_of_a_moved_chat_can_be_listed_and_undone(db: Database) -> None:
    """What was forgotten under both ids is restored once."""
    first, later = own_of("telegram:-9"), own_of("telegram:-1009")
    golf = 0
    with job(db):
        old = store_fact(db, later, "We are a supergroup")
        for memory in (first, later):
            golf = store_fact(db, memory, "We play golf", now=2).id
            fact_changes.forget_fact(db, memory, golf, "user", 2, for_good=False)
        statement = Statement("We are two", "x", "turn t2")
        new = fact_changes.replace_fact(db, later, old.id, statement, 4)
        assert chat_moves.move_chat(db, "telegram", "1", "-9", "-1009", 5)
    history = [fact.id for fact in fact_changes.list_history(db, first, old.id)]
    assert history == [new.id, old.id]
    undone = fact_changes.undo_change(db, first, golf, 5)
    assert (undone.fact, db.execute("SELECT count(*) FROM fact_gone").get) == ("We play golf", 1)


@needs_server
def test_facts_that_two_nodes_store_at_once_have_numbers_of_their_own(tmp_path: Path) -> None:
    """The second one waits for the first, whose agent is another one."""
    with two_writers(tmp_path / "shared") as writers:
        found = writers.overlap(
            lambda db: fact_changes.store_statement(db, WORK, PARIS, 1),
            lambda db: fact_changes.store_statement(db, HOME, PARIS, 1),
        )
        numbers = [int(number) for (number,) in writers.db.execute("SELECT id FROM fact")]
    assert found is not None
    assert found.new
    assert sorted(numbers) == [1, 2]
