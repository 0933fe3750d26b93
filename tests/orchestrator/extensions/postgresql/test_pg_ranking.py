"""What PostgreSQL does differently: here, that there are several writers."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from fakes.agents_file import parsed
from fakes.postgresql import LOCKS, database_of, needs_server

from orchestrator.extensions.memory import message_index
from orchestrator.extensions.postgresql import pg_ranking
from orchestrator.extensions.postgresql.pg_connection import PostgresConnection
from orchestrator.journal.db.database import AbortedError
from orchestrator.journal.turns import sessions
from orchestrator.spending.spending_rules import SpendingRules
from thinker.protocol.messages import UserMessage

pytestmark = needs_server
NOON = 1_770_000_000_000
AGENTS = ({"agentId": name, "llmProvider": "groq", "model": "m"} for name in ("here", "there"))
FILE = parsed(*AGENTS, budget={"tokensPerDay": 10_000}).file
SLEEPING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
COUNT = "SELECT count(*) FROM {}"
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


def say(db: PostgresConnection, agent_id: str) -> None:
    """Store a message of an agent."""
    session = sessions.open_session(db, agent_id, agent_id, 1)
    sessions.append_messages(db, session, agent_id, [UserMessage(content="tea")], 1)


def index(db: PostgresConnection) -> int:
    """Index the new messages, and return how many are."""
    while upto := message_index.find_new_messages(db):
        message_index.index_new_messages(db, upto)
    return int(db.execute("SELECT count(*) FROM message_place").get)


@pytest.mark.parametrize(("end", "indexed"), [("COMMIT", 2), ("ROLLBACK", 1)])
def test_message_that_is_stored_after_a_later_one_is_indexed_too(
    nodes: list[PostgresConnection], end: str, indexed: int
) -> None:
    """Its id is lower: the index waits until it is known whether it is stored."""
    here, there, look = nodes
    with ThreadPoolExecutor(1) as other:
        here.execute("BEGIN")
        say(here, "here")
        say(there, "there")
        found = other.submit(index, look)
        while there.execute(SLEEPING).get != 1:
            assert not found.done()
        say(there, "later")  # for this one it need not wait
        here.execute(end)
        assert found.result() == indexed + 1


def test_writer_that_takes_too_long_is_left_for_later(
    nodes: list[PostgresConnection], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What came after it is not read yet."""
    monkeypatch.setattr(pg_ranking, "LOOKS", 2)
    here, there, look = nodes
    here.execute("BEGIN")
    say(here, "here")
    say(there, "there")
    assert index(look) == 0
    here.execute("COMMIT")
    assert index(look) == 2


def test_erasure_is_alone_with_what_it_erases(nodes: list[PostgresConnection]) -> None:
    """Another node opens no turn in a chat, and decides nothing, before it has ended."""
    here, there, _ = nodes
    here.execute("BEGIN")
    here.dialect.exclude_daemons(here)
    there.execute("SET lock_timeout = 1")
    for table in ("inbox", "turn", "outbox", "audit"):
        with pytest.raises(AbortedError, match="lock timeout"):
            there.execute(COUNT.format(table)).fetchall()
    here.execute("COMMIT")
    assert there.execute(COUNT.format("inbox")).get == 0
