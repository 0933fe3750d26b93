"""Begin a conversation that goes on from an earlier point of another one.

Nothing is copied and nothing of the source changes, except that a rewound conversation ends.

Where: is a conversation rewound or forked?
"""

from typing import NamedTuple

from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.extensions.branches import line_calls
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.row_times import find_end_of_rows_before, find_first_row_since
from orchestrator.journal.turns import questions, sessions, subagents, turns
from orchestrator.journal.turns.outbox import Address
from thinker.protocol.messages import MESSAGE

MAX_SAID = 60  # characters of the message that a point is shown by
POINTS = """SELECT session.id, session.agent_id, session.chat_key, session.scope, max(message.id)
FROM message JOIN session ON session.id = session_id WHERE turn_id = ?1 AND {}
GROUP BY session.id, session.agent_id, session.chat_key, session.scope"""
OF_SESSION = "session_id = (SELECT session_id FROM turn WHERE id = ?1)"
OF_TIME = "message.id >= ?2 AND message.id < ?3"  # of a moved chat's turn
TIMES = "SELECT started_at, ended_at FROM turn WHERE id = ?"
LATE = 3_600_000  # milliseconds after the end of a turn, in which its messages are stored
# What was sent to a chat without a session belongs to no turn of it.
KNOWN = """SELECT EXISTS(SELECT 1 FROM session WHERE chat_key = :chat_key)
  OR EXISTS(SELECT 1 FROM inbox
    WHERE channel = :channel AND chat_id = :chat_id AND chat_key = :chat_key)
  OR EXISTS(SELECT 1 FROM outbox WHERE (turn_id IS NULL OR aside = 1) AND chat_key = :chat_key)"""
NEWEST = "SELECT id FROM session WHERE agent_id = ? AND chat_key = ? ORDER BY id DESC LIMIT 1"
REACHED = f"{sessions.LINE} SELECT 1 FROM line WHERE id = ?2 AND upto >= ?3"
NOTHING_LEFT = "that turn left nothing in its conversation; choose another message"
BUSY = "I am still working here; wait for the answer or send /stop, and then rewind"
ELSEWHERE = (
    "that message is not in this conversation any more; fork the conversation from it instead"
)
LAST = "nothing has happened here since that message, so there is nothing to rewind"
TAKEN = "the chat {} exists already; choose another name"


class BranchPoint(NamedTuple):
    """The end of a turn in a conversation; ``upto`` is its last message."""

    turn_id: str
    session_id: int
    agent_id: str
    chat_key: str
    scope: str
    upto: int
    said: str  # how the last message begins


class ChildSession(NamedTuple):
    """A session that goes on from a point of another one."""

    session_id: int
    agent_id: str
    scope: str
    address: Address
    point: BranchPoint


def load_point(db: Database, turn_id: str) -> BranchPoint:
    """Return the point at the end of a turn.

    Raises:
        UnknownNameError: the turn has no messages in a conversation.
    """
    found = db.execute(POINTS.format(OF_SESSION), (turn_id,)).fetchone()
    if found is None:
        between = (turn_id, *_find_messages_of_time(db, turn_id))
        found = db.execute(POINTS.format(OF_TIME), between).fetchone()
    if found is None:
        raise UnknownNameError(NOTHING_LEFT)
    body = db.execute("SELECT body FROM message WHERE id = ?", (found[4],)).get
    said = " ".join(MESSAGE.validate_json(body).content.split())
    said = said if len(said) <= MAX_SAID else f"{said[: MAX_SAID - 1]}…"
    session_id, agent_id, chat_key, scope, upto = found
    return BranchPoint(turn_id, session_id, agent_id, chat_key, scope, upto, said)


def _find_messages_of_time(db: Database, turn_id: str) -> tuple[int, int]:
    """Return the first message since a turn began, and the first some time after its end."""
    began, ended = db.execute(TIMES, (turn_id,)).fetchone() or (0, 0)
    first = find_first_row_since(db, "message", began)
    return first, find_end_of_rows_before(db, "message", (ended or began) + LATE)


def fork_conversation(
    db: Database, point: BranchPoint, address: Address, by: str, now: int
) -> ChildSession:
    """Begin a conversation in a new chat.

    Raises:
        OrchestratorError: the chat exists.
    """
    if db.execute(KNOWN, vars(address) | {"chat_key": address.chat_key}).get:
        raise OrchestratorError(TAKEN.format(address.name))
    scope = f"{address.channel}:{address.chat_id}"
    child = _begin_child(db, point, _find_parent(db, point), address.chat_key, scope, now)
    audit.record_decision(db, by, "forked a conversation", f"turn {point.turn_id}", now)
    return ChildSession(child, point.agent_id, scope, address, point)


def rewind_conversation(db: Database, point: BranchPoint, by: str, now: int) -> ChildSession:
    """End a chat's conversation and begin one that goes on from an earlier point of it.

    Questions that its subagents still ask are withdrawn.

    Raises:
        OrchestratorError: the chat is being answered, or the point is not in its conversation.
    """
    address = turns.load_opening_message(db, point.turn_id).build_address()
    if address.chat_key != point.chat_key:
        raise OrchestratorError(ELSEWHERE)
    if turns.has_open_turn(db, point.chat_key):
        raise OrchestratorError(BUSY)
    parent = int(db.execute(NEWEST, (point.agent_id, point.chat_key)).get or 0)
    if not _reaches(db, parent, point):
        raise OrchestratorError(ELSEWHERE)
    if sessions.load_history_window(db, parent, 1).span == (point.upto, point.upto):
        raise OrchestratorError(LAST)
    sessions.end_session(db, point.agent_id, point.chat_key, now)
    subagents.dismiss_subagents(db, point.chat_key, now)
    child = _begin_child(db, point, parent, point.chat_key, point.scope, now)
    for turn_id in line_calls.list_tail_turns(db, child):
        questions.withdraw_questions(db, turn_id, now)
    audit.record_decision(db, by, "rewound a conversation", f"turn {point.turn_id}", now)
    return ChildSession(child, point.agent_id, point.scope, address, point)


def _find_parent(db: Database, point: BranchPoint) -> int:
    """Return the chat's newest conversation with a point: its tail has what was done since."""
    newest = int(db.execute(NEWEST, (point.agent_id, point.chat_key)).get or 0)
    return newest if _reaches(db, newest, point) else point.session_id


def _reaches(db: Database, session_id: int, point: BranchPoint) -> bool:
    """Return whether a session reads the messages of a point."""
    reached = db.execute(REACHED, (session_id, point.session_id, point.upto)).get is not None
    return reached or session_id == point.session_id


def _begin_child(
    db: Database, point: BranchPoint, parent: int, chat_key: str, scope: str, now: int
) -> int:
    new = (
        "INSERT INTO session(agent_id, chat_key, started_at, scope, parent_id, parent_upto)"
        " VALUES(?,?,?,?,?,?) RETURNING id"
    )
    values = point.agent_id, chat_key, now, scope, parent, point.upto
    return int(db.execute(new, values).get)
