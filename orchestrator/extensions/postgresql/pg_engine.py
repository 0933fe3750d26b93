"""PostgreSQL as the engine of a journal."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from orchestrator.extensions.postgresql import pg_opening
from orchestrator.extensions.postgresql.pg_connection import PostgresConnection
from orchestrator.extensions.postgresql.pg_page_reads import PostgresPageReads
from orchestrator.extensions.postgresql.pg_storage import PostgresStorage
from orchestrator.journal_address import DatabaseServer

TRIAL = 10_000  # milliseconds that a trial may be silent


class PostgresqlEngine:
    """Keeps the journal in a server's database; see `Engine`."""

    def __init__(self, server: DatabaseServer) -> None:
        self._server = server

    def open_storage(self, standing_by: Callable[[], None]) -> PostgresStorage:
        return PostgresStorage(self._server, standing_by)

    def open_journal(self) -> PostgresConnection:
        return pg_opening.open_database(self._server)

    def open_for_writing(self) -> AbstractContextManager[PostgresConnection]:
        return pg_opening.open_for_writing(self._server)

    def open_for_reading(self) -> AbstractContextManager[PostgresConnection]:
        return pg_opening.open_for_reading(self._server)

    @contextmanager
    def open_trial_state(self) -> Iterator[PostgresConnection]:
        with self.open_for_reading() as db:
            # A trial's writes block the daemon, so an abandoned trial must end.
            db.execute(f"SET LOCAL idle_in_transaction_session_timeout = {TRIAL}")
            yield db

    def open_page_reads(self, longest: float) -> PostgresPageReads:
        return PostgresPageReads(self._server, longest)
