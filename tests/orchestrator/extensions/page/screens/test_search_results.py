"""The find box."""

from pathlib import Path

import pytest
from fakes.journal import next_turn, receive, update
from fakes.page import PageBench, page_bench

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import outbox, turns


@pytest.mark.parametrize("role", ["operator", "viewer"])
async def test_one_turn_or_message_is_opened_at_once(tmp_path: Path, role: str) -> None:
    """By its name, which others have in a log or a notice."""
    async with page_bench(tmp_path) as bench:
        await _asked(bench)
        person = await bench.login(role)
        assert (await person.get("/find?q=rn-1")).headers["location"] == "/turns/turn-1"
        assert (await person.get("/find?q=1")).headers["location"] == "/m/1"


async def test_what_was_said_is_for_those_who_may_read(tmp_path: Path) -> None:
    """Others find names alone; those without the right to look have no such box."""
    async with page_bench(tmp_path) as bench:
        await _asked(bench)
        operator, viewer = await bench.login(), await bench.login("viewer")
        found = (await operator.get("/find?q=zeppelin")).text
        assert "the zeppelin" in found
        place = "/chats/telegram/1/7/?turn=turn-1"
        assert f'href="{place}#turn-turn-1"' in found
        assert 'id="turn-turn-1"' in (await operator.get(place)).text
        assert "the zeppelin" not in (await viewer.get("/find?q=zeppelin")).text
        chats = (await viewer.get("/find?q=telegram")).text
        assert "/turns?chat=telegram%2F1%2F7%2F" in chats
        chat = await bench.login("chat")
        assert (await chat.get("/find?q=zeppelin")).status_code == 403
        assert 'class="find"' not in (await chat.get("/chats")).text


async def test_nothing_found_and_nothing_asked_are_sentences(tmp_path: Path) -> None:
    """The words stand in the field."""
    async with page_bench(tmp_path) as bench:
        person = await bench.login()
        nothing = (await person.get("/find?q=%3Cb%3E")).text
        assert "No matches for “&lt;b&gt;”." in nothing
        assert "words that were said" in (await person.get("/find")).text


async def _asked(bench: PageBench) -> None:
    def ask(db: Database) -> None:
        turns.boot(db, 0)
        receive(db, update(1, "when does the zeppelin leave?"))
        turn = next_turn(db, "turn-1")
        assert turn is not None
        turns.end_with_reply(db, turn, [outbox.OutboxPart("At noon.")], "direct", ("done", None), 5)

    await bench.store.transact(ask)
