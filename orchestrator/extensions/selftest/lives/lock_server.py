"""A model of the server: sessions, their locks, and rows that only who has a lock may write."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from zlib import crc32

import apsw

from orchestrator.extensions.postgresql.group_locks import ALL, LOCKS, find_group
from orchestrator.extensions.postgresql.nodes.sharing_state import NAMES
from orchestrator.extensions.postgresql.pg_schema import load_schema
from orchestrator.extensions.postgresql.writing_session import LOST_AFTER
from orchestrator.journal import migrations
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
    """One database; ``clock`` returns seconds. ``problems`` are commits that nobody may make."""

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
        self._last = 0

    def begin_session(self) -> int:
        """Begin a session; return its number, which is never used again."""
        self._last += 1
        self._heard[self._last] = self.clock()
        return self._last

    def end_session(self, pid: int) -> bool:
        """End a session, with its transaction and its locks; return whether it was there."""
        if self._heard.pop(pid, None) is None:
            return False
        for key in list(self._locks):
            self._locks[key].pop(pid, None)
            if not self._locks[key]:
                del self._locks[key]
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

    def try_lock(self, pid: int, key: Key, *, shared: bool) -> bool:
        """Lock for a session, unless another one has what excludes that."""
        others = set(self._locks.get(key, ())) - {pid}
        if others and not (shared and self._shared[key]):
            return False
        self._locks[key][pid] += 1
        self._shared[key] = shared
        return True

    def unlock(self, pid: int, key: Key) -> bool:
        """Undo one lock of a session; return whether it had any."""
        found = self._locks.get(key)
        if found is None or not found[pid]:
            return False
        found[pid] -= 1
        if not found[pid]:
            del found[pid]
        if not found:
            del self._locks[key]
        return True

    def list_locks(self, first: int, last: int) -> list[tuple[int, int, int]]:
        """Return the two numbers and the session of each lock whose first number is in a range."""
        return [
            (key[0], key[1], pid)
            for key, holders in self._locks.items()
            if len(key) > 1 and first <= key[0] <= last
            for pid in holders
        ]

    def find_holder(self, owner: str) -> int | None:
        """Return the session that may write the rows of an owner."""
        name = owner.removeprefix(ACCOUNT)
        key = (LOCKS, find_group(owner)) if name == owner else (NAMES, crc32(name.encode()) >> 1)
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
        pid = self.begin_session()
        for group in groups:
            if not self.try_lock(pid, (LOCKS, group), shared=False):
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
