"""Groups of agents: who has their locks works for them."""

from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest
from fakes.postgresql import needs_server
from fakes.stored_keys import end_sessions

from orchestrator.extensions.postgresql import group_locks, pg_schema
from orchestrator.extensions.postgresql.pg_connection import PostgresConnection
from orchestrator.journal_address import DatabaseServer

ONE, OTHER = 5, 77


@pytest.fixture
def sessions(server: DatabaseServer) -> Iterator[tuple[PostgresConnection, PostgresConnection]]:
    """Those of two daemons on one journal."""
    with ExitStack() as stack:
        first, second = (
            stack.enter_context(closing(PostgresConnection(server.url))) for _ in range(2)
        )
        pg_schema.upgrade_schema(first, "here")
        yield first, second


@pytest.mark.parametrize(("name", "group"), [("work", 0), ("home", 80), ("wörk", 44)])
def test_group_of_a_name_is_the_same_everywhere(name: str, group: int) -> None:
    """On every machine, and in every version."""
    assert group_locks.find_group(name) == group


@needs_server
def test_group_is_locked_by_one_session(
    sessions: tuple[PostgresConnection, PostgresConnection],
) -> None:
    """The others get those that are left."""
    first, second = sessions
    assert group_locks.lock_groups(first, [ONE]) == {ONE}
    assert group_locks.lock_groups(second, [ONE, OTHER]) == {OTHER}
    first.close()
    while not group_locks.lock_groups(second, [ONE]):
        pass  # the server notices the end of a session a little later


@needs_server
def test_groups_that_another_daemon_had_meanwhile_are_lost(
    sessions: tuple[PostgresConnection, PostgresConnection], server: DatabaseServer
) -> None:
    """Whether it still has their locks or not; the others are kept."""
    first, _ = sessions
    groups = ONE, OTHER, 3
    assert group_locks.lock_groups(first, groups) == {*groups}
    epochs = group_locks.count_takeover(first, groups, "first", "", 1)
    end_sessions(server)
    with closing(PostgresConnection(server.url)) as follower:
        assert group_locks.lock_groups(follower, [ONE]) == {ONE}
        group_locks.count_takeover(follower, [ONE], "second", "", 2)
    with (
        closing(PostgresConnection(server.url)) as holder,
        closing(PostgresConnection(server.url)) as again,
    ):
        assert group_locks.lock_groups(holder, [OTHER]) == {OTHER}
        while (lost := group_locks.find_lost_groups(again, epochs)) != {ONE, OTHER}:
            assert lost > {ONE, OTHER}  # while the follower's session is ending
