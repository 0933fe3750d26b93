"""The index of what was said: each message gets a place, and the terms by which it is found.

A place is a number that says what the ranking needs to know of a message without a look at it: its
sitting, its position in that, and about how long it is. A sitting is a part of a session without
two hours of silence. Besides its words a message has terms for what it is about: the memory scope,
the agent, the month and the sender.

Messages are indexed after they are stored, a few at a time. A journal of an earlier version is
indexed session by session, the newest session first; `meta` has how far that has come.

Where: is what was just said found?
"""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import orjson

from orchestrator.journal.db.database import Database, Value, ask_ahead
from orchestrator.journal.db.dialect import get_dialect, has_earlier_index
from orchestrator.journal.memory.fulltext import split_terms, take_first_terms
from orchestrator.journal.memory.memory_scope import EVERY, MemoryScope

SLICE = 32  # messages of one transaction, at most, which holds the journal for some milliseconds
MAX_BYTES = 6000  # of them together, unless it is a single one
SILENCE = 2 * 3_600_000  # milliseconds, after which a new sitting begins
MAX_SITTING = 60  # messages; a place has room for 64
MAX_INDEXED = 24_000  # bytes of a message whose words are found
MAX_WORDS = 3000  # different ones
MAX_CLASS = 31
FILLING = "search_filling"
EVERYTHING = 1 << 62  # more than any id
SENDER = re.compile(r"([^\W\d_][\w.' -]{0,40}): ")  # of a line that another program passed on
SAID = (
    "SELECT said.id, said.session_id, said.at, body, session.agent_id, session.scope FROM said"
    " JOIN message ON message.id = said.id JOIN session ON session.id = said.session_id"
)
LAST = "SELECT ifnull(max(message_id), 0) FROM message_place"
NEWEST = "SELECT ifnull(max(place), 0) FROM message_place"
NUMBER = "SELECT min(id) FROM search_scope WHERE agent_id = ? AND scope = ?"
PREVIOUS = (
    "SELECT place, at FROM message JOIN message_place ON message_id = message.id"
    " WHERE session_id = ? AND message.id < ? ORDER BY message.id DESC LIMIT 1"
)


class _Said(NamedTuple):
    """A message to index."""

    id: int
    session_id: int
    at: int
    body: str
    agent_id: str
    scope: str


class _Indexed(NamedTuple):
    """The last message that was indexed (0 without any), and whether more may follow."""

    last: int
    more: bool


def make_place(sitting: int, position: int, length: int) -> int:
    """Return the place of a message of so many characters."""
    return sitting << 11 | position << 5 | min(MAX_CLASS, 2 * length.bit_length())


def index_new_messages(db: Database, upto: int = EVERYTHING) -> bool:
    """Index the oldest messages that came since the last call; return whether there may be more.

    ``upto`` is the last one to index, by `find_new_messages`, if other processes write as well.
    """
    get_dialect(db).wait_for_turn(db, "message index")
    sql = f"{SAID} WHERE said.id > ? AND said.id <= ? ORDER BY said.id LIMIT ?"
    return _index_messages(db, db.execute(sql, (_find_last(db), upto, SLICE))).more


def find_new_messages(db: Database) -> int:
    """Return the last message that can be indexed, or 0 if there is no new one."""
    sql = "SELECT 1 FROM said WHERE id > ? LIMIT 1"
    is_new = db.execute(sql, (_find_last(db),)).get is not None
    return get_dialect(db).find_settled_id(db, "message") if is_new else 0


def count_unindexed(db: Database) -> int:
    """Return how many messages have no place yet."""
    sql = (
        "SELECT count(*) FROM said LEFT JOIN message_place ON message_id = said.id"
        " WHERE message_id IS NULL"
    )
    return int(db.execute(sql).get)


def is_filling(db: Database) -> bool:
    """Return whether messages of an earlier version are not indexed yet."""
    return _load_filling(db) is not None


def has_unfound_messages(db: Database) -> bool:
    """Return whether messages of an earlier version are in no index."""
    return is_filling(db) and not has_earlier_index(db)


def fill_index(db: Database) -> bool:
    """Index some messages of an earlier version; return whether there may be more of them."""
    get_dialect(db).wait_for_turn(db, "message index")
    found = _load_filling(db)
    if found is None:
        return False
    last, session, after = found
    rows = db.execute(
        f"{SAID} WHERE said.session_id = ? AND said.id > ? AND said.id <= ?"
        " ORDER BY said.id LIMIT ?",
        (session, after, last, SLICE),
    )
    indexed = _index_messages(db, rows)
    after = indexed.last if indexed.more else 0
    if not indexed.more:
        before = "SELECT ifnull(max(id), 0) FROM session WHERE id < ?"
        session = int(db.execute(before, (session,)).get)
    db.execute("UPDATE meta SET v = ? WHERE k = ?", (f"{last} {session} {after}", FILLING))
    if session:
        return True
    get_dialect(db).drop_earlier_index(db)
    if not has_earlier_index(db):
        db.execute("DELETE FROM meta WHERE k = ?", (FILLING,))
    return False


def list_scope_terms(db: Database, memory: MemoryScope) -> list[str]:
    """Return the terms of which a message has one if a memory may read it; empty without any."""
    where, values = memory.build_row_condition()
    rows = db.execute(f"SELECT id, scope FROM search_scope WHERE {where}", values)
    if memory.joined:
        return [f"_a{number}" for number, scope in rows if scope == EVERY]
    return [f"_s{number}" for number, _ in rows]


def make_month_term(year: int, month: int) -> str:
    return f"_t{year}{month:02}"


def make_sender_terms(words: Sequence[str]) -> list[str]:
    """Return the terms of the messages of a sender whose name has these words."""
    return [f"_w{word}" for word in words]


def find_sender(text: str, sender_name: str | None, sender: str | None) -> str:
    """Return who wrote a message: the name, or the beginning of a line that was passed on."""
    found = SENDER.match(text)
    return sender_name or sender or (found[1] if found else "")


def _index_messages(db: Database, rows: Iterable[Value]) -> _Indexed:
    """Index messages, in order, until there were as many as are indexed at once."""
    numbers: dict[tuple[str, str], tuple[int, int]] = {}
    previous: dict[int, tuple[int, int]] = {}  # by session: the last place and its time
    newest = -1
    placed: list[tuple[int, int, str]] = []
    size = 0
    full = False
    for row in rows:
        said = _Said(*row)
        text, sender = _read_body(said.body)
        start = text[:MAX_INDEXED].encode()[:MAX_INDEXED]
        size += len(start)
        if full := bool(placed) and size > MAX_BYTES:
            break
        owner = said.agent_id, said.scope
        if owner not in numbers:
            ask_ahead(
                db,
                (NUMBER, (said.agent_id, said.scope)),
                (NUMBER, (said.agent_id, EVERY)),
                (NEWEST, ()),
                (PREVIOUS, (said.session_id, said.id)),
            )
            numbers[owner] = _number_scope(db, *owner), _number_scope(db, said.agent_id, EVERY)
        if newest < 0:
            newest = int(db.execute(NEWEST).get) >> 11
        place, at = previous.get(said.session_id) or _find_previous(db, said)
        sitting, position = place >> 11, (place >> 5 & 63) + 1
        if not place or said.at - at > SILENCE or position == MAX_SITTING:
            newest += 1
            sitting, position = newest, 0
        place = make_place(sitting, position, len(text))
        previous[said.session_id] = place, said.at
        day = datetime.fromtimestamp(said.at / 1000, UTC)
        scope, agent = numbers[owner]
        about = [f"_s{scope}", f"_a{agent}", make_month_term(day.year, day.month)]
        names = make_sender_terms(split_terms(sender))
        words = split_terms(start.decode(errors="ignore"))
        terms = take_first_terms([*about, *names, *words], MAX_WORDS)
        placed.append((said.id, place, " ".join(terms)))
    if placed:
        get_dialect(db).place_messages(db, placed)
    return _Indexed(placed[-1][0] if placed else 0, full or len(placed) == SLICE)


def _read_body(body: str) -> tuple[str, str]:
    """Return the text of a message and who wrote it; nothing of one that is no valid text."""
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:  # half of a character, which the database does not mind
        return "", ""
    text = str(message["content"])
    return text, find_sender(text, message.get("sender_name"), message.get("sender"))


def _find_last(db: Database) -> int:
    filling = _load_filling(db)
    return max(int(db.execute(LAST).get), 0 if filling is None else filling[0])


def _load_filling(db: Database) -> tuple[int, int, int] | None:
    """Return the last message of the earlier version, a session, and the last indexed message."""
    found = db.execute("SELECT v FROM meta WHERE k = ?", (FILLING,)).get
    if found is None:
        return None
    last, session, after = map(int, str(found).split())
    return last, session, after


def _find_previous(db: Database, said: _Said) -> tuple[int, int]:
    found = db.execute(PREVIOUS, (said.session_id, said.id)).fetchone()
    return (0, 0) if found is None else found


def _number_scope(db: Database, agent_id: str, scope: str) -> int:
    found = db.execute(NUMBER, (agent_id, scope)).get
    new = "INSERT INTO search_scope(agent_id, scope) VALUES(?,?) RETURNING id"
    return int(found if found is not None else db.execute(new, (agent_id, scope)).get)
