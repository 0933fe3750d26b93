"""The session that writes to the journal in PostgreSQL; its lock is the right to work.

An ended session can commit nothing, so a daemon that lost its session has lost the journal:
whatever froze it, it cannot write after the next daemon has taken over. The server manages leases,
their expiry and exclusion.

Where: does a second daemon take over a shared journal?
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import partial
from socket import gethostname

import structlog
from psycopg.errors import LockNotAvailable

from orchestrator.errors import ConfigError, JournalError
from orchestrator.extensions.postgresql import group_locks, pg_schema
from orchestrator.extensions.postgresql.clean_end import consume_clean_end, record_clean_end
from orchestrator.extensions.postgresql.pg_connection import (
    ENDED,
    FAILED,
    PostgresConnection,
    extract_first_line,
)
from orchestrator.extensions.postgresql.pipelined_connection import PipelinedConnection
from orchestrator.extensions.postgresql.session_check import require_session_lock
from orchestrator.journal.db.database import AbortedError, Database
from orchestrator.journal.db.writer import JournalTakenError
from orchestrator.journal_address import DatabaseServer
from orchestrator.placement import ACCOUNT

HEARTBEAT_SECONDS = 0.75  # between two heartbeats of an idle writer
LOST_AFTER = 3000  # milliseconds without a heartbeat, after which the server frees the journal
WITHIN = 2500  # milliseconds that the writer may be silent inside a transaction
# Settings by which the server detects the loss of a daemon that stands by, in milliseconds and
# seconds. Otherwise such a daemon would keep its place, and be given the journal.
WAITING = {
    "lock_timeout": 10_000,
    "client_connection_check_interval": 1000,
    "tcp_keepalives_idle": 5,
    "tcp_keepalives_interval": 2,
    "tcp_keepalives_count": 3,
    "idle_session_timeout": LOST_AFTER,
}
# A session, identified by its process id and start: the system reuses process ids.
HOLDER = "SELECT pid, backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()"
END = """SELECT pg_terminate_backend(pid, ?3) FROM pg_stat_activity
  WHERE pid = ?1 AND backend_start::text = ?2"""
# As a condition, pg_terminate_backend would end the sessions of all databases.
CUT_OFF = """SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid()"""
SKEW = 250  # milliseconds that two clocks may differ before the server's counts
NOW = """SELECT pg_database_size(current_database()),
  round(extract(epoch FROM clock_timestamp()) * 1000)::bigint"""
AWAY = 30.0  # seconds that a start waits for a server, which may be starting or failing over
LOOK = 1.0  # seconds between two tries to reach the server, or to take the journal
LAST_COMMIT = "SELECT mark FROM last_commit WHERE daemon = ?"
# The page compares the sum of all rows with an earlier one, so that it must not become less.
FIRST_COMMIT = """WITH gone AS (DELETE FROM last_commit RETURNING commits)
INSERT INTO last_commit SELECT ?, '', coalesce(sum(commits), 0) + 1 FROM gone"""
ADD_COMMIT = "INSERT INTO last_commit VALUES(?, ?, 1) ON CONFLICT DO NOTHING"
GONE = "gone"  # the mark of a daemon whose row the first one of a later start has deleted
log = structlog.get_logger()


def _read_boot_clock() -> float:
    """Return seconds of a clock that continues during sleep."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class WritingSession:
    """The writing session, which is replaced when it has ended.

    ``size`` is a second old; ``clock_offset`` is how many milliseconds the server's clock is ahead.
    ``daemon`` is unique among all that ever were. ``epochs`` has the groups of agents that this one
    works for: all, unless it shares the journal with other daemons. ``lost`` has those that another
    daemon took while this one had no session: what this one knows of them is old, and it takes none
    of them before `forget_lost_groups`. Other threads may read both.
    """

    def __init__(
        self,
        server: DatabaseServer,
        connect: Callable[[str], PostgresConnection] = PipelinedConnection,
        clock: Callable[[], float] = _read_boot_clock,
    ) -> None:
        """Prepare it; ``clock`` returns seconds, and continues while the machine sleeps."""
        self._server = server
        self._connect = connect
        self._clock = clock
        self._db: PostgresConnection | None = None
        self.holder: tuple[int, str] | None = None  # the session that has got the lock
        self.size = self.clock_offset = 0
        self.daemon = ""
        self.epochs: Mapping[int, int] = {}
        self.lost: frozenset[int] = frozenset()
        self.names: set[str] = set()  # that this session has locked, such as channels
        self._taken: dict[int, int] = {}  # groups, once the transaction is stored
        self._given: set[int] = set()  # groups whose locks must go
        self._alive_at = 0.0  # the server had the session then, or later

    def take_journal(self, standing_by: Callable[[], None], away: float) -> bool:
        """Wait for the journal and upgrade its schema.

        Return whether the previous daemon ended cleanly.
        """
        try:
            db = self._connect_with_retries(standing_by, away)
            require_session_lock(db, partial(self._connect, self._server.url), str(self._server))
            alone = bool(db.execute(pg_schema.TRY_LOCK).get)
            if not alone and not self._try_to_join(db):
                log.warning("standing_by", journal=str(self._server))
                db, alone = self._stand_by(db, standing_by)
            log.info("journal_taken", journal=str(self._server))
            self._keep_alive(db)
            self._lock_address(db, standing_by)
            self.daemon = str(self.holder)
            clean = alone and self._begin_alone(db)
            if not alone:
                db.execute(ADD_COMMIT, (self.daemon, ""))
            self.send_heartbeat()
            if not self.shares:
                now = time.time_ns() // 1_000_000 + self.clock_offset
                self.take_groups(self.lock_groups(db, group_locks.ALL, now))
                self.settle_groups(db)
        except FAILED as error:
            raise JournalError(
                f"{self._server}: cannot open the journal ({extract_first_line(error)});"
                " check the server and ORCHESTRATOR_STORE"
            ) from error
        return clean and not self.shares  # the others may end at any time

    @property
    def shares(self) -> bool:
        """Whether other daemons may work at the same time."""
        return bool(self._server.node)

    def _begin_alone(self, db: PostgresConnection) -> bool:
        """Prepare the journal while no other daemon can have it, and let others in.

        Return whether the previous daemon ended cleanly.
        """
        pg_schema.upgrade_schema(db, str(self._server))
        clean = consume_clean_end(db)
        db.execute(FIRST_COMMIT, (self.daemon,))
        if self.shares:
            db.execute(pg_schema.WAIT_FOR_SHARED_LOCK)
            db.execute(pg_schema.UNLOCK)
        return clean

    def _try_to_join(self, db: PostgresConnection) -> bool:
        """Join the daemons that share a journal of this schema; return whether there are any.

        Raises:
            JournalError: it cannot be used, so that to wait for it would be in vain.
        """
        found = pg_schema.verify_schema(db, str(self._server))
        current = found == pg_schema.load_schema().number
        return self.shares and current and bool(db.execute(pg_schema.TRY_SHARED_LOCK).get)

    def _lock_address(self, db: PostgresConnection, waits: Callable[[], None]) -> None:
        """Lock the address of this node: others tell nodes apart by it.

        Raises:
            ConfigError: another node has the address, and not only since this one ended.
        """
        ends = time.monotonic() + 2 * LOST_AFTER / 1000
        while self.shares and not group_locks.lock_address(db, self._server.node):
            if time.monotonic() >= ends:
                raise ConfigError(
                    f"another daemon on this journal has ORCHESTRATOR_NODE_URL={self._server.node};"
                    " give each one its own"
                )
            waits()
            time.sleep(LOOK)

    def _connect_with_retries(self, waits: Callable[[], None], away: float) -> PostgresConnection:
        """Connect, with retries: the server may be starting or failing over."""
        ends, problem = time.monotonic() + away, ""
        while True:
            try:
                return self._open_session()
            except ENDED as error:
                if time.monotonic() >= ends:
                    raise
                problem, before = extract_first_line(error), problem
                if problem != before:
                    tries = f"it is tried for {away:.0f} s, check the server and ORCHESTRATOR_STORE"
                    log.error("journal_failed", problem=f"{problem}; {tries}")
            waits()
            time.sleep(LOOK)

    def _stand_by(
        self, db: PostgresConnection, standing_by: Callable[[], None]
    ) -> tuple[PostgresConnection, bool]:
        """Wait for the lock, across restarts of the server.

        Return the session that holds it, and whether alone.
        """
        while True:
            standing_by()
            try:
                for name, value in WAITING.items():
                    db.execute(f"SET {name} = {value}")
                alone = self._try_to_take(db)
                if alone is not None:
                    return db, alone
            except ENDED as error:
                if isinstance(error.__cause__, LockNotAvailable):
                    continue
                log.error("journal_failed", problem=extract_first_line(error))
                time.sleep(LOST_AFTER / 1000)  # the daemon that had it is the first to come back
                with suppress(*ENDED):
                    db = self._open_session()

    def _try_to_take(self, db: PostgresConnection) -> bool | None:
        """Return whether the journal is this daemon's alone; None if it has to wait on.

        No daemon can share a lock for which another one waits alone. Where daemons share the
        journal, or want to, one looks again and again, so as not to shut the others out.
        """
        if not self.shares and not db.execute(pg_schema.IS_SHARED).get:
            db.execute(pg_schema.WAIT_FOR_LOCK)
            return True
        if self._try_to_join(db):
            return False
        if db.execute(pg_schema.TRY_LOCK).get:
            return True
        time.sleep(LOOK)
        return None

    def is_held(self) -> bool:
        """Return whether no other daemon can hold the journal now."""
        in_time, db = self._clock() < self._alive_at + LOST_AFTER / 1000, self._db
        return in_time and db is not None and not db.is_hung_up

    @contextmanager
    def confirm_alive(self) -> Iterator[None]:
        """Record the block's success as proof that the server had the session when it began."""
        began = self._clock()
        yield
        self._alive_at = began

    def ensure_session(self) -> PostgresConnection:
        """Return the session; retake the journal if the session has ended.

        Raises:
            AbortedError: the server cannot be reached.
            JournalTakenError: another daemon holds the journal.
        """
        if self._db is not None and not self._db.closed:
            return self._db
        try:
            return self._retake_journal(self._open_session())
        except FAILED as error:
            self.close()
            raise AbortedError(extract_first_line(error)) from error
        except JournalTakenError:
            self.close()  # another daemon has the journal
            raise

    def send_heartbeat(self) -> None:
        """Keep the session alive: it ends after too long a silence."""
        with suppress(*FAILED):  # the next job is told
            db, asked = self.ensure_session(), time.time_ns()
            with self.confirm_alive():
                size, now = db.execute(NOW).get
            answered = time.time_ns()
            offset = int(now) - (asked + answered) // 2_000_000
            self.size = int(size)
            # The longer the query took, the less is known about when the server read its clock.
            if abs(offset - self.clock_offset) > SKEW + (answered - asked) // 2_000_000:
                log.warning("clock_differs", seconds=round(offset / 1000, 1))
                self.clock_offset = offset
            self._unlock_given_groups(db)

    def begin_transaction(self) -> None:
        """Forget what an earlier transaction took that was not stored."""
        self._taken = {}

    def lock_groups(self, db: Database, groups: Iterable[int], now: int) -> dict[int, int]:
        """Lock the groups that no other daemon has, and return their new epochs.

        ``now`` in milliseconds.
        """
        locked = group_locks.lock_groups(db, frozenset(groups) - self.lost)
        return group_locks.count_takeover(db, locked, gethostname(), self._server.node, now)

    def take_groups(self, locked: Mapping[int, int]) -> None:
        """Take locked groups, whose turns are adopted; the rest of the transaction may write them.

        `settle_groups` must follow once it is stored.
        """
        self._taken |= locked

    def give_groups(self, groups: frozenset[int]) -> None:
        """Give groups away with the transaction that runs; later jobs may not write their rows."""
        self.epochs = {kept: epoch for kept, epoch in self.epochs.items() if kept not in groups}
        self._given |= groups

    def forget_lost_groups(self, groups: frozenset[int]) -> None:
        """Let lost groups be taken again, once nothing here works for them."""
        self.lost -= groups

    def owns(self, owner: str) -> bool:
        """Return whether this daemon may write the rows of an owner.

        Only in the writer's thread is that still so afterwards.
        """
        if not self.shares:
            return True
        if owner.startswith(ACCOUNT):
            return owner.removeprefix(ACCOUNT) in self.names
        group = group_locks.find_group(owner)
        return group in self.epochs or group in self._taken

    def settle_groups(self, db: PostgresConnection) -> None:
        """Do what the last transaction, which is stored, decided about groups."""
        if db is self._db:  # a new session has not locked what the one before took
            self.epochs = {**self.epochs, **self._taken}
        self._taken = {}
        self._unlock_given_groups(db)

    def _unlock_given_groups(self, db: PostgresConnection) -> None:
        if not self._given:
            return
        with suppress(*FAILED):  # an ended session has no locks, and a heartbeat tries again
            group_locks.unlock_groups(db, self._given)
            self._given.clear()

    def is_last_mark(self, mark: str) -> bool | None:
        """Return whether the last stored commit of this daemon has a mark; None if none can say."""
        found = self.ensure_session().execute(LAST_COMMIT, (self.daemon,)).get
        return None if found == GONE else bool(found == mark)

    def close(self, *, clean: bool = False) -> None:
        """End the session; ``clean`` says that all work is stored."""
        self._alive_at = 0.0
        if self._db is not None:
            with suppress(*FAILED):
                if clean and not self._db.in_transaction:
                    record_clean_end(self._db)
                    # The server notices the end of a session only later.
                    self._db.execute(pg_schema.RELEASE_LOCKS)
            self._db.close()
        self._given.clear()
        self.names.clear()

    def end_all_sessions(self) -> list[int]:
        """End all sessions of this journal, for a self-test; return their processes."""
        try:
            with closing(PostgresConnection(self._server.url)) as db:
                return [int(pid) for pid, _ in db.execute(CUT_OFF)]
        except FAILED:
            return []

    def _retake_journal(self, db: PostgresConnection) -> PostgresConnection:
        """Retake the lock, although the server may not know yet that its last session ended.

        Another daemon may have held the journal, or a group, and ended in between: what this one
        knows of it would be stale. A lost group costs that group alone.
        """
        lock = pg_schema.TRY_SHARED_LOCK if self.shares else pg_schema.TRY_LOCK
        locked, ended = not self.shares and db.execute(lock).get, True
        if not locked and self.holder is not None:
            ended = db.execute(END, (*self.holder, WITHIN)).get is not False
            locked = db.execute(lock).get
        lost = group_locks.find_lost_groups(db, self.epochs)
        if self.shares and not group_locks.lock_address(db, self._server.node):
            locked = False
        if not locked or not ended or (lost and not self.shares):
            raise JournalTakenError(f"{self._server}: another daemon has taken the journal")
        db.execute(ADD_COMMIT, (self.daemon, GONE))
        if lost:
            log.warning("groups_lost", groups=sorted(lost))
            self.lost |= lost
            self.epochs = {kept: epoch for kept, epoch in self.epochs.items() if kept not in lost}
            group_locks.unlock_groups(db, lost)
        self._keep_alive(db)
        log.info("journal_taken", journal=str(self._server))
        return db

    def _open_session(self) -> PostgresConnection:
        self.close()
        self._db = self._connect(self._server.url)
        self._db.execute("SELECT set_config('application_name', ?, false)", (gethostname(),))
        return self._db

    def _keep_alive(self, db: PostgresConnection) -> None:
        with self.confirm_alive():
            db.execute(f"SET idle_session_timeout = {LOST_AFTER}")
        db.execute(f"SET idle_in_transaction_session_timeout = {WITHIN}")
        db.execute(f"SET lock_timeout = {WITHIN}")  # the database's own could be anything
        self.holder = db.execute(HOLDER).get
