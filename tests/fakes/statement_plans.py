"""How the statements of the daemon's writer and event loop find their rows.

SQLite plans each statement without a look at its values or the sizes of tables, so a plan holds for
a journal of any size. One that reads a whole table of messages makes every chat wait, longer each
month, and so does one that sorts rows which become more. `watch_connections` explains each
statement once, when a test first runs it.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import cache
from types import FrameType
from typing import Any

import apsw

from orchestrator.journal import migrations

GROWING = "inbox|turn|step|message|outbox|transition|model_call"  # by each message
SMALL = (  # indexes of open work, and of dead letters, which an operator settles
    *("inbox_new", "inbox_dead", "one_open_turn", "outbox_open", "outbox_preview"),
)
CHECKED = ("SELECT", "WITH", "UPDATE", "DELETE", "INSERT", "REPLACE")
# Whose connections are the writer's and the loop's. A search has a thread of its own.
OURS = ("SqliteStorage.__init__", "JournalReader.__init__")
ASIDE = "SearchReader.__init__"
PRODUCT = "/orchestrator/"
PROVING = ("/tests/", "/selftest/")  # what looks at journals to judge them
# Folders whose functions are for the writer and the loop, also where a test calls them itself.
WRITING = (
    *(f"/journal/{name}/" for name in ("access", "memory", "schedule", "turns")),
    *(f"/extensions/{name}/" for name in ("branches", "receipts", "subagents", "upkeep")),
)
# Parts of statements that may read a table, and why.
ALLOWED: Mapping[str, str] = {
    "state = 'settled' ORDER BY id DESC LIMIT 1": "from the newest on; few are not settled",
    "FROM transition WHERE true ORDER BY id DESC LIMIT 1": "the first row is the last",
    "ifnull(ended_at, :since) >= :since": "what is forgotten leaves all that was shown since",
    "(chat_id = ?2 OR sender_id = ?2)": "who is asked is looked for in all that was ever written",
    "SELECT receipt FROM turn WHERE receipt IS NOT NULL AND started_at": "of the command line",
    "AND message.id >= (SELECT min(id) FROM (": "the newest of each conversation of a line",
    "AND turn.started_at >= (SELECT min(started_at) FROM (": "the newest of each conversation",
    "SELECT at / ?, sum(prompt + completion)": "of an hour",
    "SELECT at / 3600000, coalesce(sum(usd), 0.0)": "a forecast looks back on months of an agent",
    "AND usd IS NULL GROUP BY model ORDER BY model": "of an agent's day or month",
    "AND turn.started_at > (SELECT started_at FROM turn WHERE id = ?3)": "of the page",
    "WHERE turn_id = ?1 AND message.id >= ?2": "of a turn's time, once its chat was moved",
}
NEWEST = re.compile(rf"FROM ({GROWING}) ORDER BY (?:\w+\.)?(?:row)?id DESC LIMIT")
# By the first columns of a wide index, all messages of a channel or bot would be read.
WIDE = re.compile(r"SEARCH \w+ USING INDEX \w+ \(channel=\?( AND bot_id=\?)?\)")
SCAN = re.compile(r"SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?")
SORT = re.compile(r"USE TEMP B-TREE FOR (?!LAST)")  # the last terms order only what is equal
FOUND = re.compile(r"SEARCH (\w+) USING .*?(?:INDEX (\w+)|PRIMARY KEY) \((.*)\)")
# Columns of which one value has few rows, however old the journal: those of one turn or message.
FEW = re.compile(r"(?:\b(?:id|rowid|turn_id|message_id|number)|<expr>)=\?")


def find_scan(db: apsw.Connection, statement: str, values: Any = None) -> str | None:
    """Return the step of a statement's plan that reads a whole growing table, if one does.

    Or the one that finds rows to be sorted, of which there are more each month.
    """
    plan = db.execute(f"EXPLAIN QUERY PLAN {statement}", values, can_cache=False).fetchall()
    bounded = {match[1] for match in NEWEST.finditer(" ".join(statement.split()))}
    sorting = {parent for _, parent, _, step in plan if SORT.match(str(step))}
    for row in plan:
        step = str(row[3])
        if WIDE.match(step) and not _is_allowed(statement):
            return step
        if row[1] in sorting and _has_many(statement, step) and not _is_allowed(statement):
            return f"sorted: {step}"
        found = SCAN.match(step)
        if found is None or found[2] in SMALL:
            continue
        table = _resolve_alias(statement, found[1])
        if table is not None and table not in bounded and not _is_allowed(statement):
            return step
    return None


def _has_many(statement: str, step: str) -> bool:
    """Return whether a step finds rows of a growing table that become more with time."""
    found = FOUND.match(step)
    if found is None or _resolve_alias(statement, found[1]) is None:
        return False
    return found[2] not in SMALL and FEW.search(found[3]) is None


def _resolve_alias(statement: str, name: str) -> str | None:
    """Return the growing table that a plan names, if it is one."""
    if re.fullmatch(GROWING, name):
        return name
    found = re.search(rf"\b({GROWING})(?: AS)? {name}\b", statement)
    return found and found[1]


def _is_allowed(statement: str) -> bool:
    return any(part in " ".join(statement.split()) for part in ALLOWED)


def open_journal() -> apsw.Connection:
    """Return an empty journal, whose statements are planned as the daemon's are."""
    db = apsw.Connection(":memory:")
    migrations.migrate(db)
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    return db


def watch_connections() -> Iterator[list[str]]:
    """Watch what daemons of this process do to their journals; yield the problems found so far."""
    problems: list[str] = []
    known: dict[tuple[str, bool], str | None] = {}

    def watch(db: apsw.Connection) -> None:
        opened = {frame.f_code.co_qualname for frame in _iter_callers(sys._getframe(1), 6)}
        ours = bool(opened.intersection(OURS)) and ASIDE not in opened

        def trace(_: object, statement: str, values: Any) -> bool:
            key = (statement, ours)
            if key not in known:
                watched = _is_watched(sys._getframe(1), ours=ours)
                known[key] = _explain_statement(statement, values) if watched else None
            problem = known[key]
            if problem is not None:
                problems.append(problem)
            return True

        db.exec_trace = trace

    apsw.connection_hooks.append(watch)
    yield problems
    apsw.connection_hooks.remove(watch)


def _explain_statement(statement: str, values: Any) -> str | None:
    if not statement.lstrip().upper().startswith(CHECKED):
        return None
    with closing(_open_copy()) as db:
        try:
            scan = find_scan(db, statement, values)
        except apsw.SQLError:  # a table of an earlier version
            return None
    return scan and f"{scan}: {statement}"


def _is_watched(caller: FrameType, *, ours: bool) -> bool:
    """Return whether the product runs a statement of its own, as writer or loop do."""
    files = [frame.f_code.co_filename for frame in _iter_callers(caller, 4)]
    by = next((file for file in files if not file.endswith("journal/db/database.py")), "")
    if PRODUCT not in by or any(part in by for part in PROVING):
        return False
    return ours or any(part in by for part in WRITING)


def _iter_callers(frame: FrameType | None, most: int) -> Iterator[FrameType]:
    while frame is not None and most:
        yield frame
        frame, most = frame.f_back, most - 1


@cache
def _serialize_journal() -> bytes:
    with closing(open_journal()) as db:
        return db.serialize("main")


def _open_copy() -> apsw.Connection:
    db = apsw.Connection(":memory:")
    db.deserialize("main", _serialize_journal())
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    return db
