"""What PostgreSQL does differently: here, that writers wait for each other."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from fakes.agents_file import parsed
from fakes.postgresql import LOCKS, database_of, needs_server

from orchestrator.extensions.postgresql.pg_connection import PostgresConnection
from orchestrator.spending.spending_rules import SpendingRules

pytestmark = needs_server
NOON = 1_770_000_000_000
AGENTS = ({"agentId": name, "llmProvider": "groq", "model": "m"} for name in ("here", "there"))
FILE = parsed(*AGENTS, budget={"tokensPerDay": 10_000}).file
WAITING = f"SELECT count(*) {LOCKS} AND NOT granted"


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[list[PostgresConnection]]:
    """The writing sessions of two nodes, and one that looks at them."""
    with ExitStack() as stack:
        address = database_of(tmp_path)
        yield [stack.enter_context(closing(PostgresConnection(address))) for _ in range(3)]


def reserve(db: PostgresConnection, agent_id: str) -> bool:
    """Reserve more than half of the budget, in the transaction of a node."""
    rules = SpendingRules(FILE, {"TZ": "UTC"}, lambda: NOON, 0)
    return rules.reserve_work(db, agent_id, f"extraction/{agent_id}", 6_000)


def begin(other: ThreadPoolExecutor, db: PostgresConnection) -> "Future[bool]":
    """Begin to reserve for the agent of the other node."""

    def work() -> bool:
        db.execute("BEGIN")
        done = reserve(db, "there")
        db.execute("COMMIT")
        return done

    return other.submit(work)


@pytest.mark.parametrize(("end", "room"), [("COMMIT", False), ("ROLLBACK", True)])
def test_two_nodes_never_reserve_the_same_room(
    nodes: list[PostgresConnection], end: str, *, room: bool
) -> None:
    """The second one waits until it is known what the first one has stored."""
    here, there, look = nodes
    with ThreadPoolExecutor(1) as other:
        here.execute("BEGIN")
        assert reserve(here, "here")
        reserved = begin(other, there)
        while look.execute(WAITING).get != 1:
            assert not reserved.done()
        here.execute(end)
        assert reserved.result(10) is room
