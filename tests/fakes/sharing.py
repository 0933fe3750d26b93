"""Two daemons that share a journal in PostgreSQL."""

from contextlib import ExitStack, closing
from dataclasses import replace

import psycopg

from orchestrator.extensions.postgresql.pg_storage import PostgresStorage
from orchestrator.extensions.postgresql.writing_session import WritingSession
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal_address import DatabaseServer


class SharedJournal:
    """A journal with two daemons, ``first`` and ``second``."""

    def __init__(self, server: DatabaseServer, stack: ExitStack) -> None:
        self.server = server
        self.first, self.second = (
            stack.enter_context(
                closing(Store(PostgresStorage(replace(server, node=f"http://{name}")), retry=0.01))
            )
            for name in ("one", "two")
        )

    async def take(self, store: Store, *groups: int) -> frozenset[int]:
        """Let a daemon take groups; return those that it has then."""
        session = session_of(store)

        def take(db: Database) -> None:
            session.take_groups(session.lock_groups(db, groups, 1))

        await store.transact(take)
        return frozenset(session.epochs)

    async def give(self, store: Store, group: int) -> None:
        """Let a daemon give a group away."""
        session = session_of(store)
        await store.transact(lambda _: session.give_group(group))

    def end_session(self, store: Store) -> None:
        """Let the server end the session of a daemon."""
        holder = session_of(store).holder
        assert holder is not None
        with psycopg.connect(self.server.url, autocommit=True) as session:
            session.execute("SELECT pg_terminate_backend(%s, 5000)", (holder[0],))


def session_of(store: Store) -> WritingSession:
    """The session in which a daemon writes."""
    assert isinstance(store.storage, PostgresStorage)
    return store.storage.session
