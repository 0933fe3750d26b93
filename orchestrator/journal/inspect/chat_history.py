"""The chats of the journal, and what was said in one: questions, answers, calls, page by page."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from heapq import merge
from typing import NamedTuple

import orjson
from pydantic import Json

from orchestrator.journal.db.database import Database, Rows, build_distinct_query
from orchestrator.journal.inspect import chat_files
from orchestrator.journal.inspect.chat_files import FileLine
from orchestrator.journal.turns import approvals
from orchestrator.journal.turns.approvals import Sources
from orchestrator.journal.turns.inbox import TASK

PAGE = 50  # entries
MAX_SEARCHED = 5000  # newest messages in which the newest chats are found
MAX_CALLS = 100  # of one turn
MAX_ID = 10**18 - 1  # no row has a higher number; its digits fit an address of the page
MAX_TEXT = 65_536  # characters of a text
NOWHERE = f"console/local/{TASK}-"  # prefix of chats that only keep outcomes


class ChatSummary(NamedTuple):
    """A chat with its newest message and its ``sender``; ``at`` in milliseconds."""

    key: str
    sender: str
    text: str
    at: int


@dataclass(frozen=True)
class InboundLine:
    """A message to an agent."""

    id: int
    kind: str
    sender: str
    text: str
    at: int
    state: str
    error: str | None
    turn_id: str | None
    while_busy: str | None
    message_id: str
    files: list[FileLine] = field(default_factory=list)


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
    files: list[FileLine] = field(default_factory=list)


@dataclass(frozen=True)
class SentLine:
    """A message to the chat; a ``notice`` is the daemon's."""

    text: str
    markdown: bool
    notice: bool
    state: str
    error: str | None
    at: int
    files: list[FileLine] = field(default_factory=list)


@dataclass(frozen=True)
class AsideLine:
    """A message to the chat that answers none of its messages."""

    id: int
    turn_id: str | None
    text: str
    markdown: bool
    notice: bool
    state: str
    error: str | None
    at: int
    queue: str | None
    agent_id: str | None
    media_id: str | None
    file_name: str | None

    def build_talk(self) -> "TurnTalk":
        return TurnTalk(self.turn_id, self.queue, self.agent_id)

    def build_sent_line(self, db: Database) -> SentLine:
        files = chat_files.list_sent_files(db, self.media_id, self.file_name)
        said = self.text, self.markdown, self.notice
        return SentLine(*said, self.state, self.error, self.at, files)


@dataclass(frozen=True)
class OpenQuestion:
    """A call that waits for a person, and the ``others`` that the same answer is about.

    ``args_hash`` is that of all of them; ``sources`` and ``may_stand`` as in `Approval`.
    """

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
    sender: str
    sources: Json[Sources] = field(default_factory=dict)
    may_stand: bool = False
    others: tuple["OpenQuestion", ...] = ()

    @property
    def calls(self) -> "tuple[OpenQuestion, ...]":
        """All calls of the question, in order."""
        return (self, *self.others)


@dataclass
class TurnTalk:
    """The question, calls and answers of a turn; a single message if there is no turn.

    ``queue`` is the chat or task of a turn that only sent something here.
    """

    turn_id: str | None
    queue: str | None = None
    agent_id: str | None = None
    state: str = ""
    stop_reason: str | None = None
    problem: str | None = None
    began: int | None = None
    ended: int | None = None
    asked: list[InboundLine] = field(default_factory=list)
    calls: list[CallLine] = field(default_factory=list)
    said: list[SentLine] = field(default_factory=list)
    questions: list[OpenQuestion] = field(default_factory=list)


class ChatPlace(NamedTuple):
    """A place in a chat, between rows of the inbox and rows of the outbox."""

    inbox: int = MAX_ID
    outbox: int = MAX_ID

    def __str__(self) -> str:
        return f"{self.inbox}.{self.outbox}"


class HistoryPage(NamedTuple):
    """A part of a chat, oldest first; ``before`` continues with older lines, None at the end."""

    turns: list[TurnTalk]
    before: ChatPlace | None


SAID = Rows(
    InboundLine,
    "inbox",
    f"id, kind, sender_name, substr(text, 1, {MAX_TEXT}), received_at, state, error, turn_id,"
    " while_busy, message_id",
)
ASIDE = "(turn_id IS NULL OR aside = 1)"
TOLD = f"{ASIDE} AND chat_key = ? AND final = 1 AND approval_id IS NULL"
OF_CHAT = "channel = ? AND bot_id = ? AND chat_id = ? AND chat_key = ?"
ASIDES = Rows(
    AsideLine,
    "outbox",
    f"id, turn_id, substr(body, 1, {MAX_TEXT}), markdown, notice, state, error, created_at,"
    " (SELECT chat_key FROM turn WHERE turn.id = turn_id),"
    " (SELECT agent_id FROM turn WHERE turn.id = turn_id), media_id, file_name",
)


ASKED_CALLS = Rows(
    OpenQuestion,
    "approval JOIN step ON step.turn_id = approval.turn_id AND step.seq = approval.seq"
    " JOIN turn ON turn.id = approval.turn_id",
    "code, approval.seq, step.name, step.args, approval.args_hash, reason, expires, step.class,"
    " turn.agent_id, approval.turn_id, turn.chat_key,"
    " ifnull((SELECT sender_name FROM inbox WHERE inbox.turn_id = turn.id ORDER BY id"
    " LIMIT 1), ''), ifnull(sources, '{}'), may_stand",
)
OTHERS = (
    "asked_with = (SELECT lead.id FROM approval AS lead WHERE lead.code = ?) ORDER BY approval.seq"
)


def list_chats(
    db: Database, before: int | None = None, owner: str | None = None
) -> list[ChatSummary]:
    """Return the newest chats whose last message is older than ``before``, in milliseconds.

    Only the newest messages are searched; with an ``owner``, only chats whose keys begin with it,
    such as ``web/local/ada``.
    """
    own = "true"
    values: list[object] = []
    if owner is not None:
        own = "chat_key >= ? AND chat_key < ?"
        values = [f"{owner}/", f"{owner}0"]  # 0 follows the slash
    came = db.execute(
        "SELECT chat_key, sender_name, substr(text, 1, 200), received_at FROM inbox WHERE id IN"
        " (SELECT max(id) FROM (SELECT id, chat_key, kind FROM inbox ORDER BY id DESC LIMIT ?)"
        f" AS newest WHERE kind = 'message' AND {own} GROUP BY chat_key) ORDER BY id",
        (MAX_SEARCHED, *values),
    )
    newest = {str(key): ChatSummary(key, *rest) for key, *rest in came}
    sent = db.execute(
        "SELECT chat_key, substr(body, 1, 200), created_at FROM outbox WHERE id IN"
        f" (SELECT (SELECT max(id) FROM outbox WHERE {TOLD.replace('?', 'told.value')})"
        f" FROM ({build_distinct_query('outbox', 'chat_key', ASIDE)}) AS told)"
        f" AND substr(chat_key, 1, {len(NOWHERE)}) <> ? AND {own} ORDER BY id",
        (NOWHERE, *values),
    )
    for key, text, at in sent:
        known = newest.get(key)
        if known is None or known.at < at:
            newest[key] = ChatSummary(key, known.sender if known else "", text, at)
    past = [item for item in newest.values() if before is None or item.at < before]
    return sorted(past, key=lambda item: item.at, reverse=True)[:PAGE]


def load_history_page(db: Database, key: str, before: ChatPlace | None = None) -> HistoryPage:
    """Return the newest part of a chat that is older than ``before``."""
    end = before or ChatPlace()
    where = f"{OF_CHAT} AND id < ? ORDER BY id DESC LIMIT ?"
    lines = SAID.select(db, where, *split_chat_key(key), key, end.inbox, PAGE + 1)
    asides = ASIDES.select(
        db, f"{TOLD} AND id < ? ORDER BY id DESC LIMIT ?", key, end.outbox, PAGE + 1
    )
    files = chat_files.list_message_files(db, [line.id for line in lines])
    for said in lines:
        said.files.extend(files.get(said.id, ()))
    kinds: list[list[InboundLine | AsideLine]] = [[*reversed(lines)], [*reversed(asides)]]
    both = list(merge(*kinds, key=lambda line: line.at))
    shown = both[-PAGE:]
    talks: dict[object, TurnTalk] = {}
    for line in shown:
        if isinstance(line, InboundLine):
            talk = talks.setdefault(line.turn_id or line.id, TurnTalk(line.turn_id))
            talk.asked.append(line)
        else:
            talk = talks.setdefault(f"aside {line.turn_id or line.id}", line.build_talk())
            talk.said.append(line.build_sent_line(db))
    _fill_talks(db, key, list(talks.values()))
    older = ChatPlace(
        min((line.id for line in shown if isinstance(line, InboundLine)), default=end.inbox),
        min((line.id for line in shown if isinstance(line, AsideLine)), default=end.outbox),
    )
    return HistoryPage(list(talks.values()), older if len(both) > PAGE else None)


def split_chat_key(key: str) -> tuple[str, str, str]:
    channel, bot_id, rest = (*key.split("/", 2), "", "")[:3]
    return channel, bot_id, rest.rpartition("/")[0]


def list_open_questions(db: Database, where: str, value: object, now: int) -> list[OpenQuestion]:
    """Return the matching open questions, the first to expire at the front."""
    pending = "approval.state = 'pending' AND expires > ? AND asked_with IS NULL"
    where = f"{pending} AND {where} ORDER BY expires, code"
    return [_add_others(db, found) for found in ASKED_CALLS.select(db, where, now, value)]


def _add_others(db: Database, found: OpenQuestion) -> OpenQuestion:
    others = tuple(ASKED_CALLS.select(db, OTHERS, found.code))
    seen = approvals.join_hashes([one.args_hash for one in (found, *others)])
    return replace(found, args_hash=seen, others=others)


def _fill_talks(db: Database, key: str, talks: Sequence[TurnTalk]) -> None:
    """Add calls and replies to the turns, in four queries for all."""
    own = {talk.turn_id: talk for talk in talks if talk.turn_id is not None and not talk.queue}
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
    made = chat_files.list_call_files(db, list(own))
    for turn_id, *row in db.execute(
        f"SELECT turn_id, seq, name, substr(ifnull(args, ''), 1, {MAX_TEXT}),"
        f" {approvals.CALL_STATE}, substr(ifnull(result, ''), 1, {MAX_TEXT}), t_intent, t_end"
        f" FROM step WHERE turn_id {among} AND kind = 'tool' ORDER BY turn_id, seq",
        ids,
    ):
        if len(own[turn_id].calls) < MAX_CALLS:
            call = CallLine(*row)
            call.files.extend(made.get((turn_id, call.seq), ()))
            own[turn_id].calls.append(call)
    for turn_id, media_id, name, *row in db.execute(
        f"SELECT turn_id, media_id, file_name, substr(body, 1, {MAX_TEXT}), markdown, notice,"
        " state, error, created_at FROM outbox"
        f" WHERE turn_id {among} AND chat_key = ? AND final = 1 AND approval_id IS NULL"
        " ORDER BY id",
        (*ids, key),
    ):
        sent = SentLine(*row)
        sent.files.extend(chat_files.list_sent_files(db, media_id, name))
        own[turn_id].said.append(sent)
    for talk in talks:
        if talk.state == "waiting":
            talk.questions = list_open_questions(db, "approval.turn_id = ?", talk.turn_id, 0)
