"""What the server knows of the daemons that share a journal, and what one of them changes there."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import orjson

from orchestrator.extensions.postgresql.group_locks import (
    LOCKS,
    GroupShare,
    find_group,
    number_name,
)
from orchestrator.extensions.postgresql.writing_session import WritingSession
from orchestrator.journal.db import liveness
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import owners, turns
from orchestrator.placement import Node

MEMBERS, NAMES = LOCKS + 1, LOCKS + 2  # the first numbers of further locks
HELD = """SELECT classid::bigint, objid::bigint, pid FROM pg_locks
  WHERE locktype = 'advisory' AND objsubid = 2 AND granted AND classid BETWEEN ?1 AND ?2
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
PLACED = "SELECT grp, node, url, home FROM placement"
COMMITS = "SELECT coalesce(sum(commits), 0) FROM last_commit WHERE daemon <> ?"
DRAINED = "drained "  # begins the key in `meta` of a node that is to take nothing, before its URL
SEEN = "node "  # the same, of a node with its machine and the session in which it writes
MARKS = f"SELECT k, v FROM meta WHERE k LIKE '{DRAINED}%' OR k LIKE '{SEEN}%'"
SESSIONS = """SELECT pid, backend_start::text FROM pg_stat_activity
  WHERE datname = current_database()"""
SHARED = "INSERT INTO meta VALUES('shared', '1') ON CONFLICT DO NOTHING"  # with several epochs
RUNNING = f"SELECT {owners.OF_TURN} FROM turn WHERE state = 'running'"
SENDING = f"SELECT {owners.OF_OUTBOX} FROM outbox WHERE state IN('sending','ph_sending')"


class SharingState(NamedTuple):
    """The daemons and their groups; ``pid`` is this one's process at the server.

    ``members`` are the processes of the daemons that take groups, ``groups`` has the process and
    ``placed`` the node that has, or had last, a group. ``homes`` has the URL of the first node of
    each group. ``names`` has the processes of locks by their numbers. ``marks`` has what is noted
    of nodes. ``commits`` counts those of the other daemons.
    """

    pid: int
    members: frozenset[int]
    groups: Mapping[int, int]
    placed: Mapping[int, Node]
    homes: Mapping[int, str]
    names: Mapping[int, int]
    marks: Mapping[str, str]
    commits: int

    @property
    def workers(self) -> frozenset[int]:
        """The processes of the daemons that have groups, or are about to take some."""
        return self.members.union(self.groups.values())

    @property
    def foreign(self) -> frozenset[int]:
        """The groups of the other daemons."""
        return frozenset(group for group, pid in self.groups.items() if pid != self.pid)


def load_state(db: Database, pid: int, daemon: str) -> SharingState:
    held = [
        (int(kind), int(key), int(holder)) for kind, key, holder in db.execute(HELD, (LOCKS, NAMES))
    ]
    placed = db.execute(PLACED).fetchall()
    return SharingState(
        pid=pid,
        members=frozenset(holder for kind, _, holder in held if kind == MEMBERS),
        groups={key: holder for kind, key, holder in held if kind == LOCKS},
        placed={int(group): Node(str(name), str(where)) for group, name, where, _ in placed},
        homes={int(group): str(home) for group, _, _, home in placed},
        names={key: holder for kind, key, holder in held if kind == NAMES},
        marks={str(key): str(value) for key, value in db.execute(MARKS)},
        commits=int(db.execute(COMMITS, (daemon,)).get),
    )


def take_groups(
    db: Database, session: WritingSession, groups: Iterable[int], epoch: int, now: int
) -> None:
    """Take groups, with their open turns, for the epoch of this daemon."""
    db.execute(SHARED)
    locked = session.lock_groups(db, groups, now)
    turns.take_over(db, epoch, now, GroupShare(frozenset(locked)))
    session.take_groups(locked)  # last: other jobs of the commit may be stored without this one


def forget_lost(db: Database, session: WritingSession, groups: frozenset[int]) -> None:
    """Let lost groups be taken again; see `WritingSession.forget_lost_groups`."""
    del db
    session.forget_lost_groups(groups)


def give_groups(db: Database, session: WritingSession, groups: Iterable[int]) -> frozenset[int]:
    """Give groups away, unless a turn of them runs or a message is being sent; return them."""
    at_work = [*db.execute(RUNNING), *db.execute(SENDING)]
    idle = frozenset(groups).difference(find_group(str(owner)) for (owner,) in at_work)
    session.give_groups(idle)
    return idle


def join_sharing(db: Database) -> None:
    """Let this daemon count among those that share the groups."""
    db.execute(f"SELECT pg_advisory_lock_shared({MEMBERS}, 0)")


def leave_sharing(db: Database) -> None:
    """Let this daemon count no more among those that share the groups."""
    db.execute(f"SELECT pg_advisory_unlock_shared({MEMBERS}, 0)")


def lock_names(db: Database, session: WritingSession, names: Iterable[str]) -> None:
    """Lock the names that no daemon has locked; the session forgets them when it ends."""
    for name in names:
        if db.execute(f"SELECT pg_try_advisory_lock({NAMES}, {number_name(name)})").get:
            session.names.add(name)


def mark_node(db: Database, url: str, session: str) -> None:
    """Note the session of a node, by which others see that it lives."""
    liveness.set_meta(db, SEEN + url, session)


def unlock_names(db: Database, session: WritingSession) -> None:
    """Unlock all names, so that other daemons lock them before this session ends."""
    while session.names:
        db.execute(f"SELECT pg_advisory_unlock({NAMES}, {number_name(session.names.pop())})")


def drain_node(db: Database, node: Node) -> None:
    """Let a node give its groups away and take no others, until `resume_node`."""
    liveness.set_meta(db, DRAINED + node.url, node.name)


def resume_node(db: Database, node: Node) -> None:
    """Let a node take groups again."""
    db.execute("DELETE FROM meta WHERE k = ?", (DRAINED + node.url,))


class NodeFigures(NamedTuple):
    """A node: its number of groups, whether it ``lives``, and whether it is drained."""

    name: str
    url: str
    groups: int
    lives: bool
    drained: bool


def list_nodes(db: Database) -> list[NodeFigures]:
    """Return the nodes that live, had a group last, or are drained, by their names."""
    state = load_state(db, 0, "")
    counts = Counter(state.placed[group].url for group in state.groups)
    sessions = {(int(pid), str(start)) for pid, start in db.execute(SESSIONS)}
    drained = _select_marks(state, DRAINED)
    seen = {url: orjson.loads(mark) for url, mark in _select_marks(state, SEEN).items()}
    living = {url: name for url, (name, *session) in seen.items() if (*session,) in sessions}
    known = drained | {node.url: node.name for node in state.placed.values() if node.url} | living
    return sorted(
        NodeFigures(name, url, counts[url], url in living, url in drained)
        for url, name in known.items()
    )


def _select_marks(state: SharingState, kind: str) -> dict[str, str]:
    marks = state.marks.items()
    return {key.removeprefix(kind): value for key, value in marks if key.startswith(kind)}
