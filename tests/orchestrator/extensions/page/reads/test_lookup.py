"""Finding things by a few characters."""

from collections.abc import Callable
from pathlib import Path

from fakes.journal import booted, job, next_turn, receive, update
from fakes.page import read_from

from orchestrator.errors import QueryTimeoutError
from orchestrator.extensions.memory import message_index
from orchestrator.extensions.page.reads import lookup
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import outbox, turns, usage
from thinker.protocol.messages import Usage


def talked(db: Database) -> None:
    """A turn whose question and answer are in the conversation."""
    receive(db, update(1, "when does the zeppelin leave?"))
    turn = next_turn(db, "turn-4711")
    assert turn is not None
    with job(db):
        turns.end_with_reply(
            db, turn, [outbox.OutboxPart("At noon, from Zürich.")], "direct", ("done", None), 5
        )
        usage.record_usage(db, "work", "turn-4711", "m", Usage(prompt=1), None, 5)


async def test_each_kind_of_thing_is_found_by_its_name(tmp_path: Path) -> None:
    """A turn by an end of its id, a message by its number, an agent, a chat, and its sender."""
    with booted(tmp_path) as db:
        talked(db)
        assert (await lookup.search_journal(read_from(db), "4711", texts=False)).turns == [
            "turn-4711"
        ]
        assert [
            row.id
            for row in (await lookup.search_journal(read_from(db), "1", texts=False)).messages
        ] == [1]
        assert (await lookup.search_journal(read_from(db), "WOR", texts=False)).agents == ["work"]
        assert [
            hit.key
            for hit in (await lookup.search_journal(read_from(db), "telegram:7", texts=False)).chats
        ] == ["telegram/1/7/"]
        assert (await lookup.search_journal(read_from(db), "ann", texts=False)).chats[
            0
        ].sender == "Ann"
        assert (
            await lookup.search_journal(read_from(db), "nothing-of-this", texts=True)
        ).total == 0


async def test_words_are_found_where_they_were_said_before_they_are_indexed(tmp_path: Path) -> None:
    """And after it; for those who may read them alone."""
    with booted(tmp_path) as db:
        talked(db)
        assert [
            hit.role
            for hit in (await lookup.search_journal(read_from(db), "zeppelin", texts=True)).texts
        ] == ["user"]
        assert (await lookup.search_journal(read_from(db), "zeppelin", texts=False)).texts == []
        with job(db):
            assert not message_index.index_new_messages(db)
        assert (await lookup.search_journal(read_from(db), "noon zurich", texts=True)).texts[
            0
        ].role == "assistant"


async def test_strange_queries_find_nothing_and_break_nothing(tmp_path: Path) -> None:
    """Quotes, operators and lone signs."""
    with booted(tmp_path) as db:
        talked(db)
        for text in ('"', "AND", "NEAR(", "* ", "🎈", "'; DROP TABLE said", "a" * 200):
            assert (await lookup.search_journal(read_from(db), text, texts=True)).texts == []


async def test_search_that_takes_too_long_leaves_the_other_kinds(tmp_path: Path) -> None:
    """And is named."""
    with booted(tmp_path) as db:
        talked(db)
        read = read_from(db)

        async def slow_for_texts(work: Callable[..., object], *args: object) -> object:
            if work.__name__ == "_search_texts":
                raise QueryTimeoutError
            return await read(work, *args)

        found = await lookup.search_journal(slow_for_texts, "ann", texts=True)  # type: ignore[arg-type]  # it returns what work does
        assert (found.cut, found.total, found.texts) == (("texts",), 1, [])


async def test_list_that_is_full_may_have_left_some_out(tmp_path: Path) -> None:
    """Its number is only of those that are listed."""
    with booted(tmp_path) as db:
        with job(db):
            for number in range(2 * lookup.MAX_MATCHES):
                usage.record_usage(db, f"clerk-{number}", "t1", "m", Usage(prompt=1), None, 5)
        found = await lookup.search_journal(read_from(db), "clerk", texts=False)
        assert (found.total, found.is_full) == (lookup.MAX_MATCHES, True)
        assert not (await lookup.search_journal(read_from(db), "clerk-9", texts=False)).is_full
