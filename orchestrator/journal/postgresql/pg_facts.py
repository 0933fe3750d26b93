"""What a server of PostgreSQL promises for what is stored."""

from contextlib import closing
from typing import NamedTuple

from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import SharingDaemon
from orchestrator.journal.postgresql import pg_schema
from orchestrator.journal.postgresql.pg_connection import FAILED, PostgresConnection
from orchestrator.journal.postgresql.pg_opening import connected, unreadable
from orchestrator.journal_address import DatabaseServer

SHARING = """SELECT application_name, coalesce(host(client_addr), 'local'), granted,
  round(extract(epoch FROM backend_start) * 1000)::bigint
FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE locktype = 'advisory' AND objsubid = 1 AND classid = ?1 AND objid = ?2
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
ORDER BY granted DESC, backend_start"""
HALVES = divmod(pg_schema.LOCK, 1 << 32)  # of the lock's number, as the server lists it


class ServerFacts(NamedTuple):
    """A server's version, the standbys it waits for, and whether it waits for its own disk.

    ``sharing`` are the daemons that are connected.
    """

    version: str
    standbys: str
    safe: bool
    sharing: tuple[SharingDaemon, ...]


def sharing(db: Database) -> tuple[SharingDaemon, ...]:
    """Return the daemons that share this journal: the one that works, and those that stand by."""
    return tuple(
        SharingDaemon(str(name), str(address), works=bool(granted), since=int(since))
        for name, address, granted, since in db.execute(SHARING, HALVES)
    )


def facts(server: DatabaseServer) -> ServerFacts:
    """Ask a server what it promises.

    Raises:
        JournalError: it cannot be reached, or refuses the user.
    """
    with closing(connected(server, PostgresConnection)) as db:
        try:
            return ServerFacts(
                str(db.execute("SHOW server_version").get),
                str(db.execute("SHOW synchronous_standby_names").get),
                str(db.execute("SHOW synchronous_commit").get) != "off",
                sharing(db),
            )
        except FAILED as error:
            raise unreadable(server, error) from error
