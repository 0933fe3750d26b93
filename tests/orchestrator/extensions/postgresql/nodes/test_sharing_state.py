"""What nodes store in common stays whole while groups of agents move between them."""

from collections.abc import Iterator
from contextlib import ExitStack

import anyio
import pytest
from fakes.agents_file import parsed
from fakes.journal import update
from fakes.postgresql import needs_server
from fakes.sharing import SharedJournal, session_of

from orchestrator.extensions.postgresql.group_locks import find_group
from orchestrator.extensions.postgresql.nodes import sharing_state
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import FencedError, Store
from orchestrator.journal.turns import inbox, turns, usage
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.journal.turns.turns import TurnAdmission
from orchestrator.journal.turns.usage import Amount
from orchestrator.journal_address import DatabaseServer
from orchestrator.spending.spending_rules import SpendingRules

pytestmark = needs_server
NOON = 1_770_000_000_000
HERE, THERE = find_group("here"), find_group("there")
AGENTS = ({"agentId": name, "llmProvider": "groq", "model": "m"} for name in ("here", "there"))
RULES = SpendingRules(
    parsed(*AGENTS, budget={"tokensPerDay": 10_000}).file, {"TZ": "UTC"}, lambda: NOON, 0
)


@pytest.fixture
def journal(server: DatabaseServer) -> Iterator[SharedJournal]:
    """The journal of two nodes."""
    with ExitStack() as stack:
        yield SharedJournal(server, stack)


def reserve_call(db: Database) -> None:
    """Open a turn of ``here``, whose first model call reserves most of the budget."""
    inbox.ingest(db, [Arrival(update(1))], None, NOON)
    row = inbox.find_oldest_new(db, "telegram/1/7/")
    assert row is not None
    turns.admit_message(db, row, TurnAdmission("t1", "here", 1, 15, "1"), NOON)
    usage.reserve_amount(db, "here", "t1", "m", Amount(6_000, 0.0), NOON)


def reserve_other(db: Database) -> bool:
    """Reserve as much for ``there``."""
    return RULES.reserve_work(db, "there", "extraction/there", 6_000)


async def test_budget_of_all_agents_holds_while_one_of_them_moves(journal: SharedJournal) -> None:
    """What was reserved at the node that ended is not free for another agent at the next one."""
    await journal.take(journal.first, HERE)
    await journal.take(journal.second, THERE)
    await journal.first.transact(reserve_call, owner="here")
    assert not await journal.second.transact(reserve_other, owner="there")
    journal.end_session(journal.first)
    take, session = sharing_state.take_groups, session_of(journal.second)
    await journal.second.transact(take, session, [HERE], 2, NOON)
    assert {HERE, THERE} == {*session.epochs}
    assert not await journal.second.transact(reserve_other, owner="there")
    with pytest.raises(FencedError):  # the answer came when it was too late
        await journal.first.transact(usage.release_reservation, "t1", owner="here")
    assert not await journal.second.transact(reserve_other, owner="there")


async def test_chain_of_the_audit_log_is_whole_with_writers_on_two_nodes(
    journal: SharedJournal,
) -> None:
    """Each entry follows the one that the other node has just stored."""

    async def decide(store: Store, name: str) -> None:
        for number in range(20):
            await store.transact(audit.record_decision, name, "decided", str(number), NOON)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(decide, journal.first, "one")
        tasks.start_soon(decide, journal.second, "two")
    assert await journal.first.read(audit.find_broken_entry) is None
    count = await journal.first.read(count_entries)
    assert count == {("one", 20), ("two", 20)}


def count_entries(db: Database) -> set[tuple[str, int]]:
    """Count what each node has decided."""
    found = db.execute("SELECT actor, count(*) FROM audit GROUP BY actor").fetchall()
    return {(str(actor), int(number)) for actor, number in found}
