"""What changes the stamps of screens."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from fakes import screens
from fakes.journal import booted, job, next_turn, receive, update
from fakes.page import read_from

from orchestrator.extensions.page.reads import stamps
from orchestrator.extensions.page.screen_request import ScreenRequest, Stamp
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import outbox, turns, usage
from thinker.protocol.messages import Usage

CHAT = "telegram/1/7/"
Read = Callable[[ScreenRequest], Awaitable[Stamp]]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal."""
    with booted(tmp_path) as db:
        yield db


async def stamp(db: Database, read: Read, **path: str) -> Stamp:
    """What a screen shows."""
    return await read(replace(screens.request(), journal=read_from(db), path=path))


async def test_chat_shows_each_step_of_its_own_messages(db: Database) -> None:
    """From their arrival to the answer."""
    seen = [await stamp(db, stamps.read_chat, key=CHAT)]
    receive(db, update(1))
    seen.append(await stamp(db, stamps.read_chat, key=CHAT))
    turn = next_turn(db, "t1")
    assert turn is not None
    seen.append(await stamp(db, stamps.read_chat, key=CHAT))
    with job(db):
        parts = [outbox.OutboxPart("hello")]
        turns.end_with_reply(db, turn, parts, "direct", ("done", None), 5)
    seen.append(await stamp(db, stamps.read_chat, key=CHAT))
    assert all(before != after for before, after in pairwise(seen))


async def test_chat_is_not_redrawn_at_once_for_other_chats(db: Database) -> None:
    """Its list may show them later."""
    before = await stamp(db, stamps.read_chat, key=CHAT)
    receive(db, update(1, chat_id="8"))
    next_turn(db, "t1", "8")
    assert await stamp(db, stamps.read_chat, key=CHAT) == before


async def test_first_screen_shows_at_once_what_begins_and_ends(db: Database) -> None:
    """All else when it costs little."""
    before = await stamp(db, stamps.read_open_turns)
    receive(db, update(1))
    assert await stamp(db, stamps.read_open_turns) == before
    next_turn(db, "t1")
    assert await stamp(db, stamps.read_open_turns) != before


async def test_one_turn_changes_only_by_itself(db: Database) -> None:
    """A model call counts, other turns do not."""
    receive(db, update(1))
    next_turn(db, "t1")
    before = await stamp(db, stamps.read_turn, turn="t1")
    receive(db, update(2, chat_id="8"))
    next_turn(db, "t2", "8")
    assert await stamp(db, stamps.read_turn, turn="t1") == before
    with job(db):
        usage.record_usage(db, "work", "t1", "m", Usage(prompt=1), None, 5)
    assert await stamp(db, stamps.read_turn, turn="t1") != before


async def test_work_of_any_chat_changes_lists_and_costs(db: Database) -> None:
    """Later, as nothing waits for them."""
    before = await stamp(db, stamps.read_newest_work)
    receive(db, update(1))
    after = await stamp(db, stamps.read_newest_work)
    assert (before.soon, before.later == after.later) == (after.soon, False)


async def test_manual_and_search_never_change(db: Database) -> None:
    """A search is repeated when someone asks for it."""
    before = await stamp(db, stamps.read_nothing)
    receive(db, update(1))
    assert await stamp(db, stamps.read_nothing) == before == Stamp(later=None)
