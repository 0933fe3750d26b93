"""Searching turns part by part."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes.journal import booted, next_turn, receive, update
from fakes.page import read_from

from orchestrator.errors import QueryTimeoutError
from orchestrator.extensions.page.reads import turn_parts
from orchestrator.extensions.page.reads.turn_parts import search_turn_parts
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect.turn_search import search_turns


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """Nine turns, of which a part has two."""
    monkeypatch.setattr(turn_parts, "PART", 2)
    monkeypatch.setattr(turn_parts, "PAGE", 4)
    with booted(tmp_path) as db:
        for number in range(1, 10):
            receive(db, update(number, f"word{number % 3}", chat_id=str(number)))
            assert next_turn(db, f"turn-{number}", str(number))
        yield db


async def test_parts_give_what_one_search_would(db: Database) -> None:
    """Newest first, in pages, up to the oldest."""
    whole = [turn.id for turn in search_turns(db, {}).turns]
    found, before = list[str](), None
    for _ in range(3):
        page = await search_turn_parts(read_from(db), {}, before, lambda: 0.0)
        found += [turn.id for turn in page.turns]
        before = page.before
    assert found == whole
    assert before is None


async def test_time_that_is_up_leaves_older_turns_for_the_next_page(db: Database) -> None:
    """Which begins where the search ended."""
    times = iter([0.0, 0.1, 0.3])
    page = await search_turn_parts(read_from(db), {"text": "word1"}, None, lambda: next(times))
    assert page.looked_at == 4
    assert page.before == "turn-6"
    rest = await search_turn_parts(read_from(db), {"text": "word1"}, page.before, lambda: 0.0)
    assert [turn.id for turn in (*page.turns, *rest.turns)] == ["turn-7", "turn-4", "turn-1"]


@pytest.mark.parametrize("parts", [0, 1])
async def test_part_that_is_cut_off_leaves_those_before(db: Database, parts: int) -> None:
    """Only if there were any."""
    read, asked = read_from(db), list[int]()

    async def cut_off(work: Callable[..., object], *args: object) -> object:
        asked.append(1)
        if len(asked) > parts:
            raise QueryTimeoutError
        return await read(work, *args)

    search = search_turn_parts(cut_off, {}, None, lambda: 0.0)  # type: ignore[arg-type]  # as above
    if not parts:
        with pytest.raises(QueryTimeoutError):
            await search
        return
    page = await search
    assert ([turn.id for turn in page.turns], page.before) == (["turn-9", "turn-8"], "turn-8")
