"""A model of the server: sessions, their locks, and rows that only who has a lock may write."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path

import apsw

from orchestrator.extensions.postgresql.group_locks import ALL, LOCKS, find_group, number_name
from orchestrator.extensions.postgresql.nodes.sharing_state import NAMES
from orchestrator.extensions.postgresql.pg_schema import load_schema
from orchestrator.extensions.postgresql.writing_session import LOST_AFTER
from orchestrator.journal import migrations
from orchestrator.journal.db.database import Value, Values
from orchestrator.placement import ACCOUNT

TABLES = Path(__file__).with_name("lives.sql")
Key = tuple[int, ...]  # of a lock: one number or two


@cache
def _make_empty_journal() -> bytes:
    """Return the file of an empty journal."""
    db = apsw.Connection(":memory:")
    migrations.migrate(db)
    return bytes(db.serialize("main"))


class LockServer:
    """One database; ``clock`` returns seconds. ``problems`` are what no session may do."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.db = apsw.Connection(":memory:")
        self.db.deserialize("main", _make_empty_journal())
        self.db.execute("PRAGMA foreign_keys = OFF")  # the agents of this model have no chats
        self.db.execute(TABLES.read_text("utf-8"))
        self.db.execute("INSERT INTO schema_version VALUES(?, 0)", (load_schema().number,))
        self.db.executemany("INSERT INTO placement(grp) VALUES(?)", [(one,) for one in ALL])
        self.clock = clock
        self.problems: list[str] = []
        self._locks: defaultdict[Key, Counter[int]] = defaultdict(Counter)
        self._shared: dict[Key, bool] = {}
        self._heard: dict[int, float] = {}  # when each session last sent something
        self._last = self._asks = self._written = 0
        functions: dict[str, Callable[..., int | str | None]] = {
            "pg_backend_pid": lambda: self._asks,
            "current_database": lambda: "modelled",
            "to_regclass": lambda name: name,
            "pg_terminate_backend": lambda pid, *_: self.end_session(pid),
            "pg_current_xact_id_if_assigned": self._find_transaction,
            "pg_advisory_lock": self._lock,
            "pg_advisory_lock_shared": partial(self._lock, shared=True),
            "pg_try_advisory_lock": self._try_lock,
            "pg_try_advisory_lock_shared": partial(self._try_lock, shared=True),
            "pg_advisory_unlock": self._unlock,
            "pg_advisory_unlock_shared": self._unlock,
            "pg_advisory_unlock_all": lambda: self._release_locks(self._asks),
        }
        for name, function in functions.items():
            self.db.create_scalar_function(name, function)

    def begin_session(self) -> int:
        """Begin a session; return its number, which is never used again."""
        self._last += 1
        self._heard[self._last] = self.clock()
        return self._last

    def end_session(self, pid: int) -> bool:
        """End a session, with its transaction and its locks; return whether it was there."""
        if self._heard.pop(pid, None) is None:
            return False
        self._release_locks(pid)
        return True

    def is_there(self, pid: int) -> bool:
        """Return whether a session goes on; one that was silent for too long does not."""
        now = self.clock()
        for number, heard in list(self._heard.items()):
            if now - heard > LOST_AFTER / 1000:
                self.end_session(number)
        return pid in self._heard

    def hear(self, pid: int) -> None:
        """Note that a session has sent something."""
        self._heard[pid] = self.clock()

    def run_for(self, pid: int, statement: str, values: Values) -> list[Value]:
        """Run a statement of a session; return its rows."""
        self._asks = pid
        if "pg_locks" in statement:
            self.db.execute("DELETE FROM pg_locks")
            self.db.executemany(
                "INSERT INTO pg_locks(classid, objid, objsubid, pid, shared) VALUES(?, ?, ?, ?, ?)",
                self._list_locks(),
            )
        if "pg_stat_activity" in statement:
            self.db.execute("DELETE FROM pg_stat_activity")
            there = [(number,) for number in self._heard]
            self.db.executemany("INSERT INTO pg_stat_activity(pid) VALUES(?)", there)
        return self.db.execute(statement, values).fetchall()

    def note_writes(self) -> None:
        """Note what was written before the transaction that begins."""
        self._written = self.db.total_changes()

    def _find_transaction(self) -> int | None:
        return 1 if self.db.total_changes() > self._written else None

    def _list_locks(self) -> list[tuple[int, ...]]:
        found = list[tuple[int, ...]]()
        for key, holders in self._locks.items():
            named = (*key, 2) if len(key) > 1 else (key[0] >> 32, key[0] & 0xFFFFFFFF, 1)
            found += [(*named, pid, self._shared[key]) for pid in holders]
        return found

    def _try_lock(self, *key: int, shared: bool = False) -> bool:
        others = set(self._locks.get(key, ())) - {self._asks}
        if others and not (shared and self._shared[key]):
            return False
        self._locks[key][self._asks] += 1
        self._shared[key] = shared
        return True

    def _lock(self, *key: int, shared: bool = False) -> None:
        if not self._try_lock(*key, shared=shared):
            raise AssertionError(f"a session would wait for {key}")

    def _unlock(self, *key: int) -> bool:
        found = self._locks.get(key)
        if found is None or not found[self._asks]:
            return False
        found[self._asks] -= 1
        if not found[self._asks]:
            del found[self._asks]
        if not found:
            del self._locks[key]
        return True

    def _release_locks(self, pid: int) -> None:
        for key in list(self._locks):
            self._locks[key].pop(pid, None)
            if not self._locks[key]:
                del self._locks[key]

    def find_holder(self, owner: str) -> int | None:
        """Return the session that may write the rows of an owner."""
        name = owner.removeprefix(ACCOUNT)
        key = (LOCKS, find_group(owner)) if name == owner else (NAMES, number_name(name))
        return next(iter(self._locks.get(key, ())), None)

    def check_commit(self, pid: int) -> None:
        """Note it if a session commits rows of owners that it has no lock of."""
        rows = self.db.execute("SELECT DISTINCT owner FROM written").fetchall()
        self.db.execute("DELETE FROM written")
        for (owner,) in rows:
            if self.find_holder(str(owner)) != pid:
                self.problems.append(f"guard: a session wrote for {owner} without its lock")
        for (owner,) in self.db.execute("SELECT owner FROM stale").fetchall():
            self.problems.append(f"fence: {owner} went on from what was old")
        self.db.execute("DELETE FROM stale")

    def intrude(self, groups: Iterable[int]) -> int:
        """Let a daemon that is not tried take groups and work for them; return its session."""
        self._asks = pid = self.begin_session()
        for group in groups:
            if not self._try_lock(LOCKS, group):
                continue
            self.db.execute("UPDATE placement SET epoch = epoch + 1 WHERE grp = ?", (group,))
            for (agent,) in self.db.execute("SELECT agent FROM progress").fetchall():
                if find_group(str(agent)) == group:
                    self._finish_turn(str(agent))
        self.check_commit(pid)
        return pid

    def _finish_turn(self, agent: str) -> None:
        self.db.execute("UPDATE progress SET steps = steps + 1 WHERE agent = ?", (agent,))
        self.db.execute(
            "UPDATE turn SET state = 'closed' WHERE agent_id = ? AND state = 'running'", (agent,)
        )
