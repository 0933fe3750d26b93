"""Groups of agents, each of which one daemon works for at a time.

A daemon works for the groups whose advisory locks its writing session holds, and writes their rows
in that session alone. The locks go when the session has ended and its last transaction with it: a
daemon that gets a lock sees all that the one before has stored, and that one stores nothing more.

A session that ended may get a lock back after another daemon had it. Each group therefore counts
its takeovers: with another count, what a daemon knows of the group is old.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from zlib import crc32

import orjson

from orchestrator.journal.db.database import Database
from orchestrator.placement import SUBAGENTS

GROUPS = 128  # of any number of agents; a server has room for far more locks of a session
LOCKS = 0x6F726367  # the first of the two numbers of each lock: "orcg"
ADDRESSES = LOCKS + 3  # the first number of the locks of nodes' addresses
ALL = range(GROUPS)
TRY_LOCKS = f"""SELECT value::bigint FROM json_each(?)
  WHERE pg_try_advisory_lock({LOCKS}, value::integer)"""
TAKE = """UPDATE placement SET epoch = epoch + 1, node = ?1, url = ?2, at = ?3,
  home = CASE WHEN home = '' THEN ?2 ELSE home END
  WHERE grp IN(SELECT value::bigint FROM json_each(?4)) RETURNING grp, epoch"""
UNLOCK = f"""SELECT count(pg_advisory_unlock({LOCKS}, objid::bigint::integer)) FROM pg_locks
  WHERE locktype = 'advisory' AND objsubid = 2 AND classid = {LOCKS} AND pid = pg_backend_pid()
    AND objid IN(SELECT value::bigint FROM json_each(?))"""
EPOCHS = "SELECT grp, epoch FROM placement"


# What the id of a subagent adds to that of the agent that began it, see `subagents.create`.
SUBAGENT = re.compile(r"(-sub-[0-9a-f]{12}-\d+)+$")


def find_group(owner: str) -> int:
    """Return the group of an agent, or of what has none: see the module `owners`."""
    if owner.startswith(SUBAGENTS):
        owner = SUBAGENT.sub("", owner.removeprefix(SUBAGENTS))
    return crc32(owner.encode()) % GROUPS


def number_name(name: str) -> int:
    """Return the number of the lock of a name."""
    return crc32(name.encode()) >> 1  # the server's are signed


@dataclass(frozen=True)
class GroupShare:
    """The groups of a node, as its share.

    ``is_held`` says of an owner in it whether the node has not lost or given its group since.
    """

    groups: frozenset[int] = frozenset()
    is_held: Callable[[str], bool] = field(default=bool, compare=False)

    def __contains__(self, owner: str, /) -> bool:
        return find_group(owner) in self.groups and self.is_held(owner)


def lock_groups(db: Database, groups: Iterable[int]) -> frozenset[int]:
    """Lock groups for the session; return those that no other session has."""
    found = db.execute(TRY_LOCKS, (orjson.dumps([*groups]).decode(),)).fetchall()
    return frozenset(int(group) for (group,) in found)


def lock_address(db: Database, url: str) -> bool:
    """Lock the address of a node for the session; return False if another session has it."""
    return bool(db.execute(f"SELECT pg_try_advisory_lock({ADDRESSES}, {number_name(url)})").get)


def unlock_groups(db: Database, groups: Iterable[int]) -> None:
    """Unlock groups, however often the session has locked them."""
    numbers = orjson.dumps([*groups]).decode()
    while db.execute(UNLOCK, (numbers,)).get:
        pass


def count_takeover(
    db: Database, groups: Iterable[int], node: str, url: str, now: int
) -> dict[int, int]:
    """Begin a new epoch of locked groups; return the epoch of each.

    ``node`` can be reached at ``url``; ``now`` in milliseconds.
    """
    rows = db.execute(TAKE, (node, url, now, orjson.dumps([*groups]).decode())).fetchall()
    return {int(group): int(epoch) for group, epoch in rows}


def find_lost_groups(db: Database, epochs: Mapping[int, int]) -> frozenset[int]:
    """Lock groups again after their session has ended.

    Return those that another daemon has, or had since ``epochs``.
    """
    locked = lock_groups(db, epochs)
    now = {int(group): int(epoch) for group, epoch in db.execute(EPOCHS)}
    kept = (group for group, epoch in epochs.items() if group in locked and now[group] == epoch)
    return frozenset(epochs).difference(kept)
