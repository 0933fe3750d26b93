"""Groups of agents, each of which one daemon works for at a time.

A daemon works for the groups whose advisory locks its writing session holds, and writes their rows
in that session alone. The locks go when the session has ended and its last transaction with it: a
daemon that gets a lock sees all that the one before has stored, and that one stores nothing more.

A session that ended may get a lock back after another daemon had it. Each group therefore counts
its takeovers: with another count, what a daemon knows of the group is old.
"""

from collections.abc import Iterable, Mapping
from zlib import crc32

import orjson

from orchestrator.extensions.postgresql.pg_connection import PostgresConnection
from orchestrator.journal.db.database import Database

GROUPS = 128  # of any number of agents; a server has room for far more locks of a session
LOCKS = 0x6F726367  # the first of the two numbers of each lock: "orcg"
ALL = range(GROUPS)
TRY_LOCKS = f"""SELECT value::bigint FROM json_each(?)
  WHERE pg_try_advisory_lock({LOCKS}, value::integer)"""
TAKE = """UPDATE placement SET epoch = epoch + 1, node = ?, url = ?, at = ?
  WHERE grp IN(SELECT value::bigint FROM json_each(?)) RETURNING grp, epoch"""
EPOCHS = "SELECT grp, epoch FROM placement"


def find_group(name: str) -> int:
    """Return the group of an agent, or of the agents that name the same group."""
    return crc32(name.encode()) % GROUPS


def lock_groups(db: PostgresConnection, groups: Iterable[int]) -> frozenset[int]:
    """Lock groups for the session; return those that no other session has."""
    found = db.execute(TRY_LOCKS, (orjson.dumps([*groups]).decode(),)).fetchall()
    return frozenset(int(group) for (group,) in found)


def count_takeover(
    db: Database, groups: Iterable[int], node: str, url: str, now: int
) -> dict[int, int]:
    """Begin a new epoch of locked groups; return the epoch of each. ``now`` in milliseconds."""
    rows = db.execute(TAKE, (node, url, now, orjson.dumps([*groups]).decode())).fetchall()
    return {int(group): int(epoch) for group, epoch in rows}


def find_lost_groups(db: PostgresConnection, epochs: Mapping[int, int]) -> frozenset[int]:
    """Lock groups again after their session has ended.

    Return those that another daemon has, or had since ``epochs``.
    """
    locked = lock_groups(db, epochs)
    now = {int(group): int(epoch) for group, epoch in db.execute(EPOCHS)}
    kept = (group for group, epoch in epochs.items() if group in locked and now[group] == epoch)
    return frozenset(epochs).difference(kept)
