"""Sessions: the stored conversation of one agent with one chat."""

from functools import lru_cache
from typing import NamedTuple

from orchestrator.journal.db.database import Database
from orchestrator.journal.db.rows import Rows
from orchestrator.journal.turns.outbox import HOOKS, Address
from thinker.protocol.messages import MESSAGE, AssistantMessage, Message, Origin, UserMessage

SHORT = 2000  # characters of the longest message whose parsed form is cached for the next turn
AFTER_SUMMARY = "session_id = ?1 AND id > (SELECT summary_upto FROM session WHERE id = ?1)"
FIRST_ID = (  # of the chat ?3 of the channel ?2, see `chat_moves`
    "coalesce((SELECT old_id FROM chat_move WHERE channel = ?2 AND new_id = ?3), ?3)"
)
ADDRESSES = Rows(Address, "inbox")


class HistoryWindow(NamedTuple):
    """Messages of a session, oldest first, and the ids of the first and the last of them."""

    messages: tuple[Message, ...]
    span: tuple[int, int] | None


def current(db: Database, agent_id: str, chat_key: str, now: int, scope: str = "") -> int:
    """Return the id of the open session; start one if no session is open.

    ``scope`` is the part of the memory that it belongs to.
    """
    found = db.execute(
        "SELECT id FROM session WHERE agent_id = ? AND chat_key = ? AND ended_at IS NULL",
        (agent_id, chat_key),
    ).get
    if isinstance(found, int):
        return found
    new = "INSERT INTO session(agent_id, chat_key, started_at, scope) VALUES(?,?,?,?) RETURNING id"
    return int(db.execute(new, (agent_id, chat_key, now, scope)).get)


def end(db: Database, agent_id: str, chat_key: str, now: int) -> None:
    """End the open session; the next message starts a new one."""
    db.execute(
        "UPDATE session SET ended_at = ? WHERE agent_id = ? AND chat_key = ? AND ended_at IS NULL",
        (now, agent_id, chat_key),
    )


def merge(db: Database, session_id: int, into: int, now: int) -> None:
    """End a session and append its messages to another one."""
    db.execute("UPDATE message SET session_id = ? WHERE session_id = ?", (into, session_id))
    db.execute(
        "UPDATE session SET tokens = tokens + more, idle_since = coalesce(since, idle_since)"
        " FROM (SELECT tokens AS more, idle_since AS since FROM session WHERE id = ?) AS later"
        " WHERE id = ?",
        (session_id, into),
    )
    db.execute("UPDATE session SET ended_at = ? WHERE id = ?", (now, session_id))


def append(db: Database, session_id: int, turn_id: str, messages: list[Message], now: int) -> None:
    bodies = [MESSAGE.dump_json(message).decode() for message in messages]
    db.execute(
        "INSERT INTO message(session_id, turn_id, at, body) VALUES"
        + ",".join(f"(?1,?2,?3,?{number})" for number in range(4, 4 + len(bodies))),
        (session_id, turn_id, now, *bodies),
    )
    db.execute(
        "UPDATE session SET tokens = tokens + ?, idle_since = ? WHERE id = ?",
        (sum(map(tokens, messages)), now, session_id),
    )


def tokens(message: Message) -> int:
    """Estimate the tokens of a message with its tool calls: four characters each, rounded up."""
    size = len(message.text if isinstance(message, UserMessage) else message.content)
    if isinstance(message, AssistantMessage):
        size += sum(len(call.model_dump_json()) for call in message.tool_calls)
    return -(-size // 4)


def window(db: Database, session_id: int, limit: int, jump: int = 1) -> tuple[Message, ...]:
    """Return the newest ``limit`` messages that no summary covers, oldest first.

    Up to ``jump`` - 1 more are returned, so that the first message stays the same for as many
    messages and moves by ``jump`` then.
    """
    return read(db, session_id, limit, jump).messages


def read(db: Database, session_id: int, limit: int, jump: int = 1) -> HistoryWindow:
    """Return the same messages as `window` with their place in the journal."""
    if jump > 1:
        sql = f"SELECT count(*) FROM message WHERE {AFTER_SUMMARY}"
        limit += max(0, int(db.execute(sql, (session_id,)).get) - limit) % jump
    rows = db.execute(
        f"SELECT id, body FROM message WHERE {AFTER_SUMMARY} ORDER BY id DESC LIMIT ?2",
        (session_id, limit),
    ).fetchall()
    messages = (
        _known(body) if len(body) <= SHORT else MESSAGE.validate_json(body)
        for _, body in reversed(rows)
    )
    span = (int(rows[-1][0] or 0), int(rows[0][0] or 0)) if rows else None
    return HistoryWindow(tuple(messages), span)


def summary(db: Database, session_id: int) -> tuple[str | None, Origin]:
    """Return the summary, and the least trusted origin of what it was made from."""
    sql = "SELECT summary, summary_origin FROM session WHERE id = ?"
    ((found, origin),) = db.execute(sql, (session_id,))
    return found, origin if found is not None else "user"


def recent_tools(db: Database, session_id: int, turns: int) -> tuple[str, ...]:
    """Return the tools used in the session's last turns, newest turn first, each once."""
    rows = db.execute(
        "SELECT step.name FROM step JOIN (SELECT rowid AS n, id FROM turn WHERE session_id = ?"
        " AND state IN('replied','closed') ORDER BY started_at DESC, n DESC LIMIT ?) AS last"
        " ON step.turn_id = last.id WHERE step.kind = 'tool' ORDER BY last.n DESC, step.seq",
        (session_id, turns),
    )
    return tuple(dict.fromkeys(str(name) for (name,) in rows))


def address(db: Database, agent_id: str, channel: str, chat_id: str) -> Address | None:
    """Return the address of a chat that has written to an agent before, under any of its ids.

    A webhook is named by the operator alone, and need not have.
    """
    if channel == HOOKS:
        return Address(HOOKS, "local", chat_id)
    where = f"agent_id = ?1 AND channel = ?2 AND chat_id = {FIRST_ID} ORDER BY id DESC LIMIT 1"
    return ADDRESSES.first(db, where, agent_id, channel, chat_id)


@lru_cache(maxsize=2000)
def _known(body: str) -> Message:
    return MESSAGE.validate_json(body)
