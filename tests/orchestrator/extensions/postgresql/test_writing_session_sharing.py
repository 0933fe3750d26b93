"""Two daemons that write to one journal, each the rows of its own groups of agents."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from threading import Event, Semaphore
from typing import Any

import pytest
from fakes.agents_file import validate_file
from fakes.commands import command_desk
from fakes.journal import update
from fakes.postgresql import needs_server
from fakes.sharing import SharedJournal, session_of
from fakes.stored_keys import keys, put
from psycopg.errors import UndefinedTable

from orchestrator.errors import AlreadyRunningError, ConfigError
from orchestrator.extensions.postgresql import group_locks, writing_session
from orchestrator.extensions.postgresql.group_locks import find_group
from orchestrator.extensions.postgresql.nodes import sharing_state
from orchestrator.extensions.postgresql.pg_storage import PostgresStorage
from orchestrator.inbound.command_queue import CommandQueue
from orchestrator.journal import opening
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import FencedError, Store
from orchestrator.journal.turns import deferred_commands, inbox
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.journal_address import DatabaseServer
from orchestrator.placement import name_account_owner

pytestmark = needs_server
QUEUED = """SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database
  WHERE datname = current_database() AND NOT granted"""
WORK, HOME = find_group("work"), find_group("home")


@pytest.fixture
def journal(server: DatabaseServer) -> Iterator[SharedJournal]:
    """Their journal."""
    with ExitStack() as stack:
        yield SharedJournal(server, stack)


async def test_both_daemons_write_at_the_same_time(journal: SharedJournal) -> None:
    """What belongs to no agent, and each the rows of its own ones."""
    assert await journal.take(journal.first, WORK, HOME) == {WORK, HOME}
    assert await journal.take(journal.second, WORK, 3) == {3}
    await journal.first.transact(put, "a", owner="work")
    await journal.second.transact(put, "b")
    assert await journal.second.read(keys) == ["a", "b"]


async def test_row_of_an_agent_of_another_node_is_refused(journal: SharedJournal) -> None:
    """Also that of a subagent; the jobs that share its commit are done."""
    await journal.take(journal.first, WORK)
    for owner in ("work", "subagent/work-sub-0123456789ab-2", "subagent/x-sub-0123456789ab-2"):
        with pytest.raises(FencedError, match="another node works for"):
            await journal.second.transact(put, "no", owner=owner)
    await journal.first.transact(put, "a", owner="subagent/work-sub-0123456789ab-2")
    with pytest.raises(FencedError):
        await journal.first.transact(put, "no", owner="home")
    assert await journal.first.read(keys) == ["a"]


async def test_chat_command_is_left_to_the_node_that_has_taken_its_agent(
    journal: SharedJournal,
) -> None:
    """The node has listed it before it gave the agent away."""
    await journal.take(journal.first, WORK)
    queue = deferred_commands.build_queue("work", "telegram/1/7/")
    facts = deferred_commands.format_facts(update(1, "/help"), "operate")
    arrivals = [Arrival(update(1, "/help"), deferred=(queue, facts))]
    await journal.first.transact(inbox.ingest, arrivals, None, 0)
    agents = validate_file({"agents": [{"agentId": "work", "llmProvider": "demo"}]})
    desk = command_desk(journal.second, lambda: agents)
    commands = CommandQueue(journal.second, desk, lambda: None)
    with pytest.raises(FencedError):
        await commands.answer_commands(queue)
    assert len(await journal.first.read(deferred_commands.list_waiting, queue)) == 1


async def test_group_that_was_given_away_can_be_taken(journal: SharedJournal) -> None:
    """Alone, and the daemon that gave it writes no more of its rows."""
    await journal.take(journal.first, WORK, HOME)
    await journal.give(journal.first, WORK)
    assert await journal.take(journal.second, WORK, HOME) == {WORK}
    with pytest.raises(FencedError):
        await journal.first.transact(put, "late", owner="work")
    await journal.first.transact(put, "mine", owner="home")
    await journal.second.transact(put, "theirs", owner="work")
    assert await journal.first.read(keys) == ["mine", "theirs"]


async def test_group_that_is_taken_in_vain_is_not_written(journal: SharedJournal) -> None:
    """Its turns could not be adopted; what shares its commit is stored."""
    free = Event()

    def break_adoption(db: Database) -> None:
        free.wait()
        db.execute("ALTER TABLE turn RENAME TO gone")

    def mend_adoption(db: Database) -> None:
        db.execute("ALTER TABLE gone RENAME TO turn")

    take, session = sharing_state.take_groups, session_of(journal.first)
    first = asyncio.create_task(journal.first.transact(break_adoption))
    jobs: list[tuple[Any, ...]] = [(take, session, [WORK], 1, 1), (put, "a"), (mend_adoption,)]
    others = [asyncio.create_task(journal.first.transact(*job)) for job in jobs]
    await asyncio.sleep(0)
    free.set()
    await first
    with pytest.raises(UndefinedTable):
        await others[0]
    await asyncio.gather(*others[1:])
    with pytest.raises(FencedError):
        await journal.first.transact(put, "no", owner="work")
    assert await journal.take(journal.first, WORK) == {WORK}
    assert await journal.first.read(keys) == ["a"]


async def test_ended_session_is_made_anew_with_its_groups(journal: SharedJournal) -> None:
    """If no other daemon had one of them meanwhile."""
    await journal.take(journal.first, WORK, HOME)
    journal.end_session(journal.first)
    await journal.first.transact(put, "a", owner="work")
    assert await journal.take(journal.second, WORK, HOME, 3) == {3}


@pytest.mark.parametrize("given_back", [True, False])
async def test_daemon_whose_group_was_taken_goes_on_with_the_others(
    journal: SharedJournal, *, given_back: bool
) -> None:
    """It has lost that one, even if it could have the lock again: what it knows of it is old."""
    session = session_of(journal.first)
    await journal.take(journal.first, WORK, HOME)
    journal.end_session(journal.first)
    assert await journal.take(journal.second, WORK) == {WORK}
    if given_back:
        await journal.give(journal.second, WORK)
    await journal.first.transact(put, "mine", owner="home")
    with pytest.raises(FencedError):
        await journal.first.transact(put, "late", owner="work")
    await journal.first.ensure_held("home")
    with pytest.raises(FencedError):
        await journal.first.ensure_held("work")
    assert session.lost == {WORK}
    assert await journal.take(journal.first, WORK, 3) == {HOME, 3}
    if not given_back:
        await journal.give(journal.second, WORK)
    assert await journal.take(journal.second, WORK) == {WORK}
    await journal.give(journal.second, WORK)
    session.forget_lost_groups(frozenset({WORK}))
    assert await journal.take(journal.first, WORK) == {WORK, HOME, 3}


async def test_offset_is_written_only_by_the_session_that_receives(journal: SharedJournal) -> None:
    """A node that was away would set it back to what it had read before."""
    first, second = journal.first, journal.second
    owner = name_account_owner("telegram")
    with pytest.raises(FencedError):
        await first.transact(put, "early", owner=owner)
    await first.transact(sharing_state.lock_names, session_of(first), ["telegram"])
    await second.transact(sharing_state.lock_names, session_of(second), ["telegram"])
    await first.transact(put, "a", owner=owner)
    with pytest.raises(FencedError):
        await second.transact(put, "no", owner=owner)
    journal.end_session(first)
    with pytest.raises(FencedError):
        await first.transact(put, "late", owner=owner)
    assert await second.read(keys) == ["a"]


async def test_each_takeover_is_counted(journal: SharedJournal) -> None:
    """By that a daemon sees what it missed; the first one stays the home of a group."""
    await journal.take(journal.first, WORK)
    await journal.give(journal.first, WORK)
    await journal.take(journal.second, WORK)
    sql = "SELECT epoch, url, home FROM placement WHERE grp = ?"
    found = await journal.first.read(lambda db: db.execute(sql, (WORK,)).get)
    assert found == (2, "http://two", "http://one")


async def test_command_that_needs_the_journal_alone_is_refused(journal: SharedJournal) -> None:
    """While any of the daemons works."""
    journal.first.close()
    with pytest.raises(AlreadyRunningError):
        opening.open_journal(journal.server)


async def test_daemons_that_wait_together_work_together(server: DatabaseServer) -> None:
    """Whoever waits to have the journal alone would keep the others from sharing it."""
    looked = [Semaphore(0) for _ in range(3)]

    def open_shared(number: int) -> Store:
        mine = replace(server, node=f"http://{number}")
        return Store(PostgresStorage(mine, looked[number].release))

    with ThreadPoolExecutor() as threads, ExitStack() as stack:
        with closing(Store(PostgresStorage(server))) as lone:
            starts = [threads.submit(open_shared, number) for number in range(3)]
            for each in (*looked, *looked):  # so that none of them comes too late to wait
                each.acquire()
            assert await lone.read(lambda db: db.execute(QUEUED).get) == 0
        for start in starts:
            store = stack.enter_context(closing(start.result(60)))
            await store.transact(put, str(len(await store.read(keys))))


async def test_daemon_without_an_address_waits_for_those_that_share(
    journal: SharedJournal, server: DatabaseServer
) -> None:
    """And has everything then."""
    waits: list[int] = []

    def end_others() -> None:
        if not waits:
            journal.first.close()
            journal.second.close()
        waits.append(1)

    storage = PostgresStorage(server, end_others)
    with closing(Store(storage)) as alone:
        assert waits
        assert set(storage.session.epochs) == {*group_locks.ALL}
        await alone.transact(put, "a", owner="anyone")


async def test_daemon_with_the_address_of_another_one_is_refused(
    journal: SharedJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others could not tell the two apart; an address is free once its daemon has ended."""
    monkeypatch.setattr(writing_session, "LOST_AFTER", 0)
    monkeypatch.setattr(writing_session, "LOOK", 0.01)
    same = replace(journal.server, node="http://one")
    with pytest.raises(ConfigError, match="has ORCHESTRATOR_NODE_URL=http://one"):
        PostgresStorage(same)
    journal.end_session(journal.first)
    await journal.first.transact(put, "a")  # in a new session, with the same address
    with pytest.raises(ConfigError):
        PostgresStorage(same)
    journal.first.close()
    Store(PostgresStorage(same)).close()
