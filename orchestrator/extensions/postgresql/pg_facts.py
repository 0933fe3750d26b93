"""Report what a PostgreSQL server guarantees for stored data."""

from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple

from orchestrator.errors import JournalError
from orchestrator.extension import Finding
from orchestrator.extensions.postgresql import pg_schema
from orchestrator.extensions.postgresql.group_locks import LOCKS
from orchestrator.extensions.postgresql.pg_connection import FAILED, PostgresConnection
from orchestrator.extensions.postgresql.pg_opening import connect_to_server, make_read_error
from orchestrator.journal.db.database import Database
from orchestrator.journal_address import DatabaseServer, SharingDaemon

SHARING = """SELECT application_name, coalesce(host(client_addr), 'local'), granted,
  round(extract(epoch FROM backend_start) * 1000)::bigint,
  (SELECT count(*) FROM pg_locks AS own WHERE own.pid = pg_stat_activity.pid
    AND own.locktype = 'advisory' AND own.objsubid = 2 AND own.classid = ?3)
FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE locktype = 'advisory' AND objsubid = 1 AND classid = ?1 AND objid = ?2
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
ORDER BY granted DESC, backend_start"""
NO_STANDBY = (
    "the server's disk can lose answered messages; to prevent that, add a standby to"
    " synchronous_standby_names"
)
ALONE = "no other daemon stands by; while this one is down, messages are not answered"
NOT_SAFE = (
    "synchronous_commit is off, so a crash of the server loses answered messages; switch it on"
)
HALVES = divmod(pg_schema.LOCK, 1 << 32)  # of the lock's number, as the server lists it


class ServerFacts(NamedTuple):
    """A server's version, its synchronous standbys, and whether it waits for its own disk.

    ``sharing`` lists the connected daemons.
    """

    version: str
    standbys: str
    safe: bool
    sharing: tuple[SharingDaemon, ...]


def list_sharing_daemons(db: Database) -> tuple[SharingDaemon, ...]:
    """Return the daemons on this journal: the working one, and those that stand by."""
    return tuple(
        SharingDaemon(str(name), str(address), bool(granted), int(since), int(groups))
        for name, address, granted, since, groups in db.execute(SHARING, (*HALVES, LOCKS))
    )


def fetch_server_facts(server: DatabaseServer) -> ServerFacts:
    """Query a server for its guarantees.

    Raises:
        JournalError: the server cannot be reached, or refuses the user.
    """
    with closing(connect_to_server(server, PostgresConnection)) as db:
        try:
            return ServerFacts(
                str(db.execute("SHOW server_version").get),
                str(db.execute("SHOW synchronous_standby_names").get),
                str(db.execute("SHOW synchronous_commit").get) != "off",
                list_sharing_daemons(db),
            )
        except FAILED as error:
            raise make_read_error(server, error) from error


def examine_server(server: DatabaseServer) -> Iterator[Finding]:
    """Yield findings about a server and the daemons on it."""
    try:
        found = fetch_server_facts(server)
    except JournalError as error:
        yield Finding("journal", str(error), "problem")
        return
    yield Finding("journal", f"in {server}, PostgreSQL {found.version}")
    if not found.safe:
        yield Finding("journal", NOT_SAFE, "problem")
    elif not found.standbys:
        yield Finding("journal", NO_STANDBY, "warning")
    working = [one.name for one in found.sharing if one.works]
    waits = [one.name for one in found.sharing if not one.works]
    works = ", ".join(working) or "no daemon"
    if len(working) > 1:
        yield Finding("nodes", f"{works} work together; see: orchestrator nodes list")
    else:
        yield Finding("nodes", f"{works} works, {', '.join(waits)} stands by" if waits else ALONE)
