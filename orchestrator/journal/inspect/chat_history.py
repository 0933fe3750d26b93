"""The chats of the journal, and what was said in one: questions, answers, calls, page by page."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import apsw
import orjson

from orchestrator.journal.db.rows import Rows

PAGE = 50  # entries
LOOKED_AT = 5000  # newest messages in which the newest chats are found
MOST_CALLS = 100  # of one turn
SHOWN = 65_536  # characters of a text


class ChatSummary(NamedTuple):
    """A chat with its newest message; ``at`` in milliseconds."""

    key: str
    channel: str
    chat_id: str
    agent_id: str | None
    sender: str
    text: str
    at: int
    state: str


@dataclass(frozen=True)
class SaidLine:
    """A message to an agent."""

    id: int
    kind: str
    sender: str
    text: str
    at: int
    state: str
    error: str | None
    turn_id: str | None
    message_id: str


@dataclass(frozen=True)
class CallLine:
    """A tool call of a turn; ``began`` and ``ended`` in milliseconds."""

    seq: int
    tool: str
    arguments: str
    state: str
    result: str
    began: int | None
    ended: int | None


@dataclass(frozen=True)
class SentLine:
    """A message to the chat."""

    text: str
    markdown: bool
    state: str
    error: str | None
    at: int


@dataclass(frozen=True)
class OpenQuestion:
    """A call that waits for a person."""

    code: str
    seq: int
    tool: str
    arguments: str
    args_hash: str
    reason: str
    expires: int
    side_effect: str
    agent_id: str
    turn_id: str
    chat_key: str


@dataclass
class TurnTalk:
    """What a turn was asked, did and said. Without a turn it is one message and its notices."""

    turn_id: str | None
    agent_id: str | None = None
    state: str = ""
    stop_reason: str | None = None
    problem: str | None = None
    began: int | None = None
    ended: int | None = None
    asked: list[SaidLine] = field(default_factory=list)
    calls: list[CallLine] = field(default_factory=list)
    said: list[SentLine] = field(default_factory=list)
    questions: list[OpenQuestion] = field(default_factory=list)


class HistoryPage(NamedTuple):
    """A part of a chat, oldest first; ``before`` is where older ones are, None at the beginning."""

    turns: list[TurnTalk]
    before: int | None


SAID = Rows(
    SaidLine,
    "inbox",
    f"id, kind, sender_name, substr(text, 1, {SHOWN}), received_at, state, error, turn_id,"
    " message_id",
)


def chats(
    db: apsw.Connection, before: int | None = None, user: str | None = None
) -> list[ChatSummary]:
    """Return the newest chats among the newest messages; of ``user`` only chats of the page."""
    where = "id < ?"
    values: list[object] = [before or 2**63 - 1]
    if user is not None:
        where += " AND channel = 'web' AND bot_id = 'local' AND chat_id >= ? AND chat_id < ?"
        values += [f"{user}/", f"{user}0"]  # 0 follows the slash
    rows = db.execute(
        "SELECT chat_key, channel, chat_id, agent_id, sender_name, substr(text, 1, 200),"
        " received_at, state FROM inbox WHERE id IN"
        f" (SELECT max(id) FROM (SELECT id, chat_key FROM inbox WHERE {where}"
        "   AND kind IN('message','task') ORDER BY id DESC LIMIT ?) GROUP BY chat_key)"
        " ORDER BY id DESC LIMIT ?",
        (*values, LOOKED_AT, PAGE),
    )
    return [ChatSummary(*row) for row in rows]


def page(db: apsw.Connection, key: str, before: int | None = None) -> HistoryPage:
    """Return the newest part of a chat that is older than ``before``."""
    channel, bot_id, rest = (*key.split("/", 2), "", "")[:3]
    chat_id = rest.rpartition("/")[0]
    where = (
        "channel = ? AND bot_id = ? AND chat_id = ? AND chat_key = ? AND id < ?"
        " ORDER BY id DESC LIMIT ?"
    )
    end = before or 2**63 - 1
    lines = SAID.select(db, where, channel, bot_id, chat_id, key, end, PAGE + 1)
    older = lines[PAGE - 1].id if len(lines) > PAGE else None
    talks: dict[object, TurnTalk] = {}
    for line in reversed(lines[:PAGE]):
        talk = talks.setdefault(line.turn_id or line.id, TurnTalk(line.turn_id))
        talk.asked.append(line)
    _fill(db, key, list(talks.values()))
    return HistoryPage(list(talks.values()), older)


def question(db: apsw.Connection, code: str, now: int) -> OpenQuestion | None:
    """Return a question that a person can still answer."""
    found = questions(db, "code = ?", code, now)
    return found[0] if found else None


def questions(db: apsw.Connection, where: str, value: object, now: int) -> list[OpenQuestion]:
    """Return the open questions that match, the one that expires first at the front."""
    rows = db.execute(
        "SELECT code, approval.seq, step.name, step.args, approval.args_hash, reason, expires,"
        " step.class, turn.agent_id, approval.turn_id, turn.chat_key FROM approval"
        " JOIN step ON step.turn_id = approval.turn_id AND step.seq = approval.seq"
        " JOIN turn ON turn.id = approval.turn_id"
        f" WHERE approval.state = 'pending' AND expires > ? AND {where} ORDER BY expires, code",
        (now, value),
    )
    return [OpenQuestion(*row) for row in rows]


def _fill(db: apsw.Connection, key: str, talks: Sequence[TurnTalk]) -> None:
    """Add what turns did and said, with three queries for all of them."""
    own = {talk.turn_id: talk for talk in talks if talk.turn_id is not None}
    ids = (orjson.dumps(list(own)).decode(),)
    among = "IN (SELECT value FROM json_each(?))"
    for turn_id, *row in db.execute(
        "SELECT id, agent_id, state, stop_reason, error, started_at, ended_at FROM turn"
        f" WHERE id {among}",
        ids,
    ):
        talk = own[turn_id]
        (talk.agent_id, talk.state, talk.stop_reason) = row[:3]
        (talk.problem, talk.began, talk.ended) = row[3:]
    for turn_id, *row in db.execute(
        "SELECT turn_id, seq, name, substr(ifnull(args, ''), 1, ?), state,"
        f" substr(ifnull(result, ''), 1, ?), t_intent, t_end FROM step WHERE turn_id {among}"
        " AND kind = 'tool' ORDER BY turn_id, seq",
        (SHOWN, SHOWN, *ids),
    ):
        if len(own[turn_id].calls) < MOST_CALLS:
            own[turn_id].calls.append(CallLine(*row))
    for turn_id, *row in db.execute(
        "SELECT turn_id, substr(body, 1, ?), markdown, state, error, created_at FROM outbox"
        f" WHERE turn_id {among} AND chat_key = ? AND final = 1 AND approval_id IS NULL"
        " ORDER BY id",
        (SHOWN, *ids, key),
    ):
        own[turn_id].said.append(SentLine(*row))
    for talk in talks:
        if talk.state == "waiting":
            talk.questions = questions(db, "approval.turn_id = ?", talk.turn_id, 0)
        if talk.turn_id is None:
            talk.said = _notices(db, key, talk.asked[0].message_id)


def _notices(db: apsw.Connection, key: str, message_id: str) -> list[SentLine]:
    rows = db.execute(
        "SELECT substr(body, 1, ?), markdown, state, error, created_at FROM outbox"
        " WHERE chat_key = ? AND reply_to = ? AND turn_id IS NULL AND final = 1 ORDER BY id",
        (SHOWN, key, message_id),
    )
    return [SentLine(*row) for row in rows]
